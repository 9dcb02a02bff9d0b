/** Signed tokens of every algorithm for tests, and tokens that no honest issuer makes. */
import { constants, createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { SignatureAlgorithm } from "../../src/jose/algorithms.ts";

export interface Issuer {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A key for each algorithm. The RSA algorithms share one. */
export const issuers: Readonly<Record<SignatureAlgorithm, Issuer>> = {
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
  ES512: generateKeyPairSync("ec", { namedCurve: "P-521" }),
  EdDSA: generateKeyPairSync("ed25519"),
};

/** Returns a member of a key set. */
export function jwkOf(algorithm: SignatureAlgorithm, more: object = {}): object {
  return { ...issuers[algorithm].publicKey.export({ format: "jwk" }), ...more };
}

export function base64url(content: string | object): string {
  return Buffer.from(typeof content === "string" ? content : JSON.stringify(content)).toString("base64url");
}

/** Creates a token. Header and payload may be texts that are not JSON. `key` replaces the algorithm's own key. */
export function makeToken(
  algorithm: SignatureAlgorithm,
  payload: string | object,
  header: string | object = {},
  { privateKey: key }: Pick<Issuer, "privateKey"> = issuers[algorithm],
): string {
  const head = base64url(typeof header === "string" ? header : { alg: algorithm, ...header });
  const signed = `${head}.${base64url(payload)}`;
  return `${signed}.${signatureOf(algorithm, signed, key).toString("base64url")}`;
}

/** Returns the signature of RFC 7518 for a text. */
export function signatureOf(algorithm: SignatureAlgorithm, signed: string, key: KeyObject): Buffer {
  const digest = algorithm === "EdDSA" ? null : `sha${algorithm.slice(2)}`;
  const bytes = Buffer.from(signed);
  switch (algorithm.slice(0, 2)) {
    case "PS":
      return sign(digest, bytes, {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      });
    case "ES":
      return sign(digest, bytes, { key, dsaEncoding: "ieee-p1363" });
    default:
      return sign(digest, bytes, key);
  }
}

/** Creates an HS256 token with a secret that is not secret, e.g. the text of a public key. */
export function makeSharedSecretToken(payload: object, secret: string | Buffer, header: object = {}): string {
  const signed = `${base64url({ alg: "HS256", ...header })}.${base64url(payload)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}
