/** An issuer's published public keys (RFC 7517). */
import { createPublicKey } from "node:crypto";
import type { KeyObject, webcrypto } from "node:crypto";
import { parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";
import { kindOf } from "./algorithms.ts";

export interface PublicKey {
  readonly id: string | undefined;
  /** The only algorithm that the key is for, if stated. */
  readonly algorithm: string | undefined;
  /** `rsa`, a curve of ECDSA, or `ed25519`, `ed448`. */
  readonly kind: string;
  readonly key: KeyObject;
}

/** Maximum number of keys used from one set. */
export const maxKeys = 100;

const minRsaBits = 2048;
/** The time of one verification grows quadratically with the size. */
const maxRsaBits = 8192;
/** The time of one verification grows with the exponent, which is 65537 in practice. */
const maxRsaExponent = 2n ** 32n;

/** @throws JsonIssue, or an error if the bytes are not a key set */
export function readKeySet(bytes: Uint8Array): readonly PublicKey[] {
  return keysOf(parseJsonObject(bytes));
}

/**
 * Returns the keys that can verify signatures. Keys for other purposes and of unknown kinds are skipped (RFC 7517 §5),
 * as are keys that reveal their private part, because anyone could sign with them.
 * @param set strictly parsed JSON
 * @throws an error if it is not a key set
 */
export function keysOf({ keys }: JsonObject): readonly PublicKey[] {
  if (!Array.isArray(keys)) throw new Error('has no list "keys"');
  const found: PublicKey[] = [];
  for (const member of keys.slice(0, maxKeys)) {
    const key = readKey(member);
    if (key) found.push(key);
  }
  return found;
}

function readKey(member: unknown): PublicKey | undefined {
  if (typeof member !== "object" || member === null || Array.isArray(member)) return undefined;
  const { kty, use, key_ops: operations, alg: algorithm, kid: id, d, k } = member as JsonObject;
  if (kty !== "RSA" && kty !== "EC" && kty !== "OKP") return undefined;
  if (d !== undefined || k !== undefined) return undefined;
  if (use !== undefined && use !== "sig") return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  if (algorithm !== undefined && typeof algorithm !== "string") return undefined;
  if (id !== undefined && typeof id !== "string") return undefined;
  try {
    const key = createPublicKey({ key: member as webcrypto.JsonWebKey, format: "jwk" });
    return isSound(key) ? { id, algorithm, kind: kindOf(key), key } : undefined;
  } catch {
    return undefined;
  }
}

function isSound(key: KeyObject): boolean {
  if (key.asymmetricKeyType !== "rsa") return true;
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < minRsaBits || modulusLength > maxRsaBits) return false;
  return publicExponent >= 3n && publicExponent <= maxRsaExponent && publicExponent % 2n === 1n;
}
