/** The key pair that signs what is sent to SAML providers, with the certificate that they are told of. */
import { createSelfSigned } from "../../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";

/** Providers are told of the certificate by hand, so it outlives whoever does that. */
const signingYears = 35;

/** May take some 100 ms. */
export async function requestSigningPair(nowMs: number): Promise<KeyedCertificate> {
  return await createSelfSigned({
    names: ["saml-signing.invalid"],
    commonName: "SAML request signing",
    days: signingYears * 365,
    now: nowMs,
    keyType: "rsa",
  });
}
