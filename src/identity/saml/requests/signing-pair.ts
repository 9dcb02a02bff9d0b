/** Creates the key pair that signs messages to SAML providers, with its certificate. */
import { createSelfSigned } from "../../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";

/** Certificates are configured at providers by hand, so they must not expire soon. */
const signingYears = 35;

/** Takes about 100 ms. */
export async function requestSigningPair(nowMs: number): Promise<KeyedCertificate> {
  return await createSelfSigned({
    names: ["saml-signing.invalid"],
    commonName: "SAML request signing",
    days: signingYears * 365,
    now: nowMs,
    keyType: "rsa",
  });
}
