/** The only accepted signature profile (I4): exclusive C14N, SHA-2, and RSA with at least 2048 bits or ECDSA. */
import type { KeyObject } from "node:crypto";

export const exclusiveC14n = "http://www.w3.org/2001/10/xml-exc-c14n#";
export const enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

/** RFC 9231 §2.1 and XML Encryption §5.8, by identifier. */
export const digests: ReadonlyMap<string, string> = new Map([
  ["http://www.w3.org/2001/04/xmlenc#sha256", "sha256"],
  ["http://www.w3.org/2001/04/xmldsig-more#sha384", "sha384"],
  ["http://www.w3.org/2001/04/xmlenc#sha512", "sha512"],
]);

export interface SignatureAlgorithm {
  readonly keyType: "rsa" | "ec";
  readonly hash: string;
}

/** RFC 9231 §2.3.2 and §2.3.6, by identifier. */
export const signatureAlgorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map(
  (["rsa", "ec"] as const).flatMap((keyType) =>
    ["sha256", "sha384", "sha512"].map((hash) => [
      `http://www.w3.org/2001/04/xmldsig-more#${keyType === "ec" ? "ecdsa" : "rsa"}-${hash}`,
      { keyType, hash },
    ]),
  ),
);

/** The algorithms of our own signatures. */
export const ours = {
  signature: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  digest: "http://www.w3.org/2001/04/xmlenc#sha256",
  hash: "sha256",
} as const;

/** Longer keys cost more time than they add security. */
const maxRsaBits = 8192;
const curves: readonly (string | undefined)[] = ["prime256v1", "secp384r1", "secp521r1"];

/** Returns why the profile does not accept the key; undefined if it does. */
export function keyIssue(key: KeyObject): string | undefined {
  const { modulusLength: bits = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "rsa") {
    return bits >= 2048 && bits <= maxRsaBits ? undefined : `has an RSA key of ${bits} bits`;
  }
  if (key.asymmetricKeyType === "ec") {
    return curves.includes(namedCurve) ? undefined : `has a key on the curve ${namedCurve}`;
  }
  return `has a key of type ${key.asymmetricKeyType}`;
}
