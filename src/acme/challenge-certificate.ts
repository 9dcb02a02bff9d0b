/** Proofs of control over a name (RFC 8555 §8.3, RFC 8737). */
import { createHash } from "node:crypto";
import { octetString } from "../lib/certificates/der.ts";
import { createSelfSigned, encodeExtension } from "../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../lib/certificates/x509.ts";
import type { ChallengeType } from "./challenge-types.ts";

/** A challenge to present while the authority validates it. */
export interface Challenge {
  readonly type: ChallengeType;
  readonly token: string;
  /** Body to serve at `/.well-known/acme-challenge/<token>`. */
  readonly keyAuthorization: string;
}

/** `id-pe-acmeIdentifier` (RFC 8737 §6.1). */
const acmeIdentifier = "1.3.6.1.5.5.7.1.31";

/** Creates the certificate to present with the protocol `acme-tls/1`. */
export function challengeCertificate(name: string, keyAuthorization: string, now: number): Promise<KeyedCertificate> {
  const digest = createHash("sha256").update(keyAuthorization).digest();
  return createSelfSigned({
    names: [name],
    now,
    days: 7,
    extensions: [encodeExtension(acmeIdentifier, octetString(digest), true)],
  });
}
