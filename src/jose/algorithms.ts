/** Public-key signature algorithms of tokens (RFC 7518 §3.1, RFC 8037 §3.1). Shared-secret algorithms are excluded. */
import { constants, verify } from "node:crypto";
import type { KeyObject, VerifyKeyObjectInput } from "node:crypto";

export const signatureAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

interface KeyScheme {
  /** Key types as Node names them: the type, or the curve of an elliptic key. */
  readonly keys: readonly string[];
  /** Null if the signature scheme includes its digest. */
  readonly digest: string | null;
  readonly options: Omit<VerifyKeyObjectInput, "key">;
  /** Length of a signature, if it is fixed. */
  readonly signatureBytes?: number;
}

const makePkcs1 = (bits: number): KeyScheme => ({
  keys: ["rsa"],
  digest: `sha${bits}`,
  options: { padding: constants.RSA_PKCS1_PADDING },
});
const makePss = (bits: number): KeyScheme => ({
  keys: ["rsa"],
  digest: `sha${bits}`,
  // The salt has exactly the length of the digest (RFC 7518 §3.5).
  options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
});
const makeEcdsa = (bits: number, curve: string, signatureBytes: number): KeyScheme => ({
  keys: [curve],
  digest: `sha${bits}`,
  options: { dsaEncoding: "ieee-p1363" },
  signatureBytes,
});

const schemes: Readonly<Record<SignatureAlgorithm, KeyScheme>> = {
  RS256: makePkcs1(256),
  RS384: makePkcs1(384),
  RS512: makePkcs1(512),
  PS256: makePss(256),
  PS384: makePss(384),
  PS512: makePss(512),
  ES256: makeEcdsa(256, "prime256v1", 64),
  ES384: makeEcdsa(384, "secp384r1", 96),
  ES512: makeEcdsa(512, "secp521r1", 132),
  EdDSA: { keys: ["ed25519", "ed448"], digest: null, options: {} },
};

/** Returns a key's kind in the form that `mayVerify` compares. */
export function kindOf(key: KeyObject): string {
  return key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? "";
}

export function isSignatureAlgorithm(text: string): text is SignatureAlgorithm {
  return Object.hasOwn(schemes, text);
}

/** Whether keys of this kind can make such signatures. */
export function mayVerify(algorithm: SignatureAlgorithm, kind: string): boolean {
  return schemes[algorithm].keys.includes(kind);
}

/**
 * Whether `key` made the signature. `mayVerify` must have accepted its kind. Never rejects. Runs outside the calling
 * thread.
 */
export function verifySignature(
  algorithm: SignatureAlgorithm,
  key: KeyObject,
  signed: string,
  signature: Buffer,
): Promise<boolean> {
  const { digest, options, signatureBytes } = schemes[algorithm];
  if (signatureBytes !== undefined && signature.length !== signatureBytes) return Promise.resolve(false);
  return new Promise((resolve) => {
    try {
      verify(digest, Buffer.from(signed, "latin1"), { key, ...options }, signature, (error, isValid) =>
        resolve(!error && isValid),
      );
    } catch {
      resolve(false);
    }
  });
}
