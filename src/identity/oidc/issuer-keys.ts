/** An issuer's signing keys, only from its key set. Cached across failures. */
import { keysOf } from "../../jose/key-set.ts";
import type { PublicKey } from "../../jose/key-set.ts";
import { keepKeySets } from "../../jose/key-sets.ts";
import type { KeySetTimes } from "../../jose/key-sets.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ProviderFetch } from "../calls/fetch.ts";
import { LoginRefusal } from "../calls/identity.ts";

export interface KeySet {
  /**
   * Rejects with a `LoginRefusal` if no keys can be fetched.
   * @param keyId key id in the token
   */
  keysFor(keyId: string | undefined): Promise<readonly PublicKey[]>;
}

const times: KeySetTimes = {
  freshMs: 5 * 60_000,
  agingMs: 4 * 60_000,
  // Known keys stay valid: old signatures are as good as before.
  usableMs: Infinity,
  // Limits requests to an issuer that does not answer.
  coolDownMs: 2_000,
  missingMs: 60_000,
};

export function makeKeySet(url: string, fetcher: ProviderFetch, clock: Clock): KeySet {
  const sets = keepKeySets({
    clock,
    times,
    maxSets: 1,
    maxFetches: 1,
    async fetchKeys() {
      const { status, json } = await fetcher.get(url);
      if (status !== 200) throw new LoginRefusal("login_unreachable", `the issuer's key set is answered ${status}`);
      return keysOf(json);
    },
  });
  return {
    async keysFor(keyId) {
      const keys = await sets.keysFor(url, keyId);
      if (keys) return keys;
      const failure = sets.failureAt(url);
      if (failure instanceof LoginRefusal) throw failure;
      const why = failure instanceof Error ? failure.message : "is unknown";
      throw new LoginRefusal("login_unreachable", `the issuer's key set ${why}`);
    },
  };
}
