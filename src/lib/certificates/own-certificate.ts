/** A certificate with its key for one site, which is not among the account's stored certificates. */
import { createHash, createPrivateKey } from "node:crypto";
import { tlsDemand } from "./tls-usable.ts";
import { readCertificates } from "./x509.ts";

export interface OwnCertificate {
  /** Equal for the same certificate and key. */
  readonly id: string;
  /** Leaf first, then its chain. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}

/** Error in the certificate or the key: the affected one, and the end of "must …". Contains no part of them. */
export interface CertificateFault {
  readonly of: "certificate" | "key";
  readonly must: string;
}

/** @param certificatePem the leaf, then its chain */
export function readOwnCertificate(certificatePem: string, keyPem: string): OwnCertificate | CertificateFault {
  const [leaf] = orNothing(() => readCertificates(certificatePem)) ?? [];
  if (!leaf) return { of: "certificate", must: "hold a certificate in PEM" };
  const key = orNothing(() => createPrivateKey(keyPem));
  if (!key) return { of: "key", must: "hold a private key in PEM, without a passphrase" };
  if (!leaf.checkPrivateKey(key)) return { of: "key", must: "be the certificate's" };
  const demand = tlsDemand(certificatePem, keyPem);
  if (demand !== undefined) return { of: "certificate", must: demand };
  const id = createHash("sha256").update(certificatePem).update("\0").update(keyPem).digest("hex");
  return { id, certificatePem, keyPem, notAfter: leaf.validToDate.getTime() };
}

function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
