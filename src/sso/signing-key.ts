/**
 * Signing key of the development identity provider: RSA, which every service can verify. The previous key remains
 * published.
 */
import { createHash, createPrivateKey, createPublicKey, hash, sign, X509Certificate } from "node:crypto";
import { createSelfSigned } from "../lib/certificates/x509.ts";
import { dayMs } from "../lib/durations.ts";

export interface SigningKey {
  readonly keyPem: string;
  readonly certificatePem: string;
  /** Base64 of its DER, as in SAML metadata. */
  readonly certificate: string;
  readonly keyId: string;
  /** A compact JWS, RS256 (RFC 7515 §3.1). */
  token(claims: object, type?: string): string;
  readonly jwk: object;
}

const days = 365;
/** A key whose certificate expires within this time is replaced. */
const restMs = 30 * dayMs;

export async function makeSigningKey(now: number): Promise<SigningKey> {
  return signingKeyOf(await createSelfSigned({ names: ["localhost"], now, days, keyType: "rsa" }));
}

export function pemOf({ keyPem, certificatePem }: SigningKey): string {
  return `${keyPem.trim()}\n${certificatePem.trim()}\n`;
}

/** Returns the key of an earlier run, or undefined if it is missing, damaged or too old. */
export function readSigningKey(pem: string | undefined, now: number): SigningKey | undefined {
  const [keyPem, certificatePem] = pem?.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
  if (keyPem === undefined || certificatePem === undefined) return undefined;
  try {
    const certificate = new X509Certificate(certificatePem);
    const isUsable =
      certificate.checkPrivateKey(createPrivateKey(keyPem)) && certificate.validToDate.getTime() > now + restMs;
    return isUsable ? signingKeyOf({ keyPem, certificatePem }) : undefined;
  } catch {
    return undefined;
  }
}

function signingKeyOf({ keyPem, certificatePem }: Pick<SigningKey, "keyPem" | "certificatePem">): SigningKey {
  const certificate = new X509Certificate(certificatePem);
  const jwk = createPublicKey(certificatePem).export({ format: "jwk" });
  const keyId = hash("sha256", certificate.raw, "base64url").slice(0, 16);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    keyPem,
    certificatePem,
    certificate: certificate.raw.toString("base64"),
    keyId,
    jwk: { ...jwk, kid: keyId, use: "sig", alg: "RS256" },
    token(claims, type = "JWT") {
      const content = `${part({ alg: "RS256", typ: type, kid: keyId })}.${part(claims)}`;
      return `${content}.${sign("sha256", Buffer.from(content), keyPem).toString("base64url")}`;
    },
  };
}

/** OpenID Connect Core 1.0 §3.1.3.6: the left half of the hash. */
export function computeHalfHash(token: string): string {
  return createHash("sha256").update(token).digest().subarray(0, 16).toString("base64url");
}
