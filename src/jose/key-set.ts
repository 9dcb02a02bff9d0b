/** The public keys of an issuer as it publishes them (RFC 7517). */
import { createPublicKey } from "node:crypto";
import type { KeyObject, webcrypto } from "node:crypto";
import { parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";
import { kindOf } from "./algorithms.ts";

export interface PublicKey {
  readonly id: string | undefined;
  /** The only algorithm it is for, where it says so. */
  readonly algorithm: string | undefined;
  /** `rsa`, a curve of ECDSA, or `ed25519`, `ed448`. */
  readonly kind: string;
  readonly key: KeyObject;
}

/** Keys of one set; more are left out. */
export const maxKeys = 100;

const minRsaBits = 2048;
/** Time of one verification grows with the square. */
const maxRsaBits = 8192;
/** Time of one verification grows with it; 65537 in practice. */
const maxRsaExponent = 2n ** 32n;

/** @throws JsonIssue, or an error when it is no key set */
export function readKeySet(bytes: Uint8Array): readonly PublicKey[] {
  return keysOf(parseJsonObject(bytes));
}

/**
 * Keys that can verify signatures; others are left out, as a set may hold keys for other purposes and of kinds that are
 * not known here (RFC 7517 §5). Left out too: those that show their private part, so everyone could sign with them.
 * @param set JSON that was read strictly
 * @throws an error when it is no key set
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
