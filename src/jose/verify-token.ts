/** Verifies that an issuer's key signed a token. */
import { captureWork } from "../lib/heartbeat.ts";
import { isSignatureAlgorithm, mayVerify, verifySignature } from "./algorithms.ts";
import type { SignatureAlgorithm } from "./algorithms.ts";
import type { SignedToken } from "./compact.ts";
import type { PublicKey } from "./key-set.ts";

/** `no_key`: no key has the id that the token names, or fits its algorithm. */
export type SignatureCheck = "verified" | "algorithm" | "no_key" | "signature";

/** Maximum number of keys to try for a token without key id. */
const maxTried = 10;

/**
 * @param allowed algorithms that the caller accepts; the token selects one of them (RFC 8725 §3.1)
 * @param keys keys of the issuer; a token with a key id is checked with keys of that id, or with keys without an id
 */
export async function verifyToken(
  { algorithm, keyId, signed, signature }: SignedToken,
  allowed: readonly SignatureAlgorithm[],
  keys: readonly PublicKey[],
): Promise<SignatureCheck> {
  const inSameWork = captureWork();
  if (!isSignatureAlgorithm(algorithm) || !allowed.includes(algorithm)) return "algorithm";
  const fitting = findCandidates(keyId, keys).filter(
    (key) => (key.algorithm === undefined || key.algorithm === algorithm) && mayVerify(algorithm, key.kind),
  );
  if (fitting.length === 0) return "no_key";
  for (const { key } of fitting.slice(0, maxTried)) {
    if (inSameWork(await verifySignature(algorithm, key, signed, signature))) return "verified";
  }
  return "signature";
}

/** `kid` is a hint (RFC 7515 §4.1.4): an issuer may publish keys without id and still send one in its tokens. */
function findCandidates(keyId: string | undefined, keys: readonly PublicKey[]): readonly PublicKey[] {
  if (keyId === undefined) return keys;
  const named = keys.filter(({ id }) => id === keyId);
  return named.length > 0 ? named : keys.filter(({ id }) => id === undefined);
}
