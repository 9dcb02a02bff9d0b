/** The keys by which an issuer signs (RFC 7517): from its key set alone, kept for a while and over failures. */
import { importJWK } from "jose";
import type { CryptoKey, JWK } from "jose";
import type { Clock } from "../../lib/clock.ts";
import type { ProviderFetch } from "../calls/fetch.ts";
import { LoginRefusal } from "../calls/identity.ts";

export interface KeySet {
  /** The keys that a signature with this header may be of. Rejects when there is none. */
  candidates(algorithm: string, keyId: string | undefined): Promise<readonly (CryptoKey | Uint8Array)[]>;
}

const freshMs = 5 * 60_000;
const againMs = 60_000;
const maxKeys = 64;

export function makeKeySet(url: string, fetcher: ProviderFetch, clock: Clock): KeySet {
  let keys: readonly JWK[] | undefined;
  let fetchedAt = 0;
  let lookedForMoreAt = -Infinity;
  let fetching: Promise<void> | undefined;

  const fetchKeys = async (): Promise<void> => {
    try {
      const { status, json } = await fetcher.get(url);
      const list = json["keys"];
      if (status !== 200 || !Array.isArray(list))
        throw new LoginRefusal("login_unreachable", "the issuer has no key set");
      keys = (list as JWK[]).filter((key) => typeof key === "object" && key !== null).slice(0, maxKeys);
      fetchedAt = clock.monotonic();
    } catch (error) {
      // What was known stays good: signatures by it are as valid as before.
      if (keys === undefined) throw error;
    } finally {
      fetching = undefined;
    }
  };
  const refetch = (): Promise<void> => (fetching ??= fetchKeys());
  const matching = (algorithm: string, keyId: string | undefined): JWK[] =>
    (keys ?? []).filter((key) => isFor(key, algorithm) && (keyId === undefined || key.kid === keyId));

  return {
    async candidates(algorithm, keyId) {
      if (keys === undefined || clock.monotonic() - fetchedAt > freshMs) await refetch();
      let found = matching(algorithm, keyId);
      if (found.length === 0 && clock.monotonic() - lookedForMoreAt >= againMs) {
        lookedForMoreAt = clock.monotonic();
        await refetch();
        found = matching(algorithm, keyId);
      }
      if (found.length === 0) {
        throw new LoginRefusal("login_token_invalid", "signed by a key that the issuer's key set does not have");
      }
      return await Promise.all(found.map(async (key) => (await importJWK(key, algorithm)) as CryptoKey | Uint8Array));
    },
  };
}

const curves: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };

/** Public, of the algorithm's kind, meant for signatures, and strong enough. */
function isFor(key: JWK, algorithm: string): boolean {
  if (key.use !== undefined && key.use !== "sig") return false;
  if (key.alg !== undefined && key.alg !== algorithm) return false;
  if (key.key_ops !== undefined && !(Array.isArray(key.key_ops) && key.key_ops.includes("verify"))) return false;
  if (/^[RP]S/.test(algorithm)) {
    const bits = typeof key.n === "string" ? Buffer.from(key.n, "base64url").length * 8 : 0;
    return key.kty === "RSA" && bits >= 2048;
  }
  if (algorithm.startsWith("ES")) return key.kty === "EC" && key.crv === curves[algorithm];
  return algorithm === "EdDSA" && key.kty === "OKP" && key.crv === "Ed25519";
}
