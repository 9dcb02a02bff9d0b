import { verify, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { Lru } from "../../../lib/collections/lru.ts";
import { keyIssue, signatureAlgorithms } from "./xml-algorithms.ts";

/** Parsing a certificate costs as much as verifying with it. */
const known = new Lru<string, X509Certificate>(1000);

/** Parses a certificate of metadata, DER in base64 without white space. Throws for anything else. */
export function readCertificate(base64: string): X509Certificate {
  const kept = known.get(base64);
  if (kept) return kept;
  const certificate = new X509Certificate(Buffer.from(base64, "base64"));
  known.set(base64, certificate);
  return certificate;
}

/** The certificates' keys that the profile accepts. */
export function keysOf(certificates: readonly string[]): readonly KeyObject[] {
  return certificates.map((one) => readCertificate(one).publicKey).filter((key) => keyIssue(key) === undefined);
}

/** Whether one of the keys made the signature. The algorithm must belong to the profile and match the key's type. */
export function verifiesWith(keys: readonly KeyObject[], algorithm: string, data: Buffer, signature: Buffer): boolean {
  const known = signatureAlgorithms.get(algorithm);
  if (!known) return false;
  return keys.some(
    (key) =>
      key.asymmetricKeyType === known.keyType &&
      // XML signatures concatenate the two numbers of ECDSA (RFC 9231 §2.3.6).
      verify(known.hash, data, { key, dsaEncoding: "ieee-p1363" }, signature),
  );
}
