/** Whether an issuer's key signed a token. */
import { isSignatureAlgorithm, mayVerify, verifySignature } from "./algorithms.ts";
import type { SignatureAlgorithm } from "./algorithms.ts";
import type { SignedToken } from "./compact.ts";
import type { PublicKey } from "./key-set.ts";

/** `no_key`: none of the keys is the one that the token names, or fits it. */
export type Verdict = "verified" | "algorithm" | "no_key" | "signature";

/** Keys that are tried for a token that names none. */
const maxTried = 10;

/**
 * @param allowed algorithms that the reader chose; what the token says only picks one of them (RFC 8725 §3.1)
 * @param keys of the issuer; a token that names its key is tried with keys of that name, or with keys without a name
 */
export async function verifyToken(
  { algorithm, keyId, signed, signature }: SignedToken,
  allowed: readonly SignatureAlgorithm[],
  keys: readonly PublicKey[],
): Promise<Verdict> {
  if (!isSignatureAlgorithm(algorithm) || !allowed.includes(algorithm)) return "algorithm";
  const fitting = candidates(keyId, keys).filter(
    (key) => (key.algorithm === undefined || key.algorithm === algorithm) && mayVerify(algorithm, key.kind),
  );
  if (fitting.length === 0) return "no_key";
  for (const { key } of fitting.slice(0, maxTried)) {
    if (await verifySignature(algorithm, key, signed, signature)) return "verified";
  }
  return "signature";
}

/** `kid` is a hint (RFC 7515 §4.1.4): an issuer may publish keys without one and still name a key in its tokens. */
function candidates(keyId: string | undefined, keys: readonly PublicKey[]): readonly PublicKey[] {
  if (keyId === undefined) return keys;
  const named = keys.filter(({ id }) => id === keyId);
  return named.length > 0 ? named : keys.filter(({ id }) => id === undefined);
}
