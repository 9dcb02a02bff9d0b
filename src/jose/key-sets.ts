/**
 * Caches issuers' key sets, fetched on demand (security I1, I7). Each set has at most one fetch at a time, and tokens
 * can cause only a few fetches, because the sender of a token chooses the requested key id.
 */
import { captureWork } from "../lib/heartbeat.ts";
import type { Clock } from "../lib/clock.ts";
import { Lru } from "../lib/collections/lru.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { readKeySet } from "./key-set.ts";
import type { PublicKey } from "./key-set.ts";

export interface KeySets {
  /**
   * Returns the keys at a URL. Undefined if none can be fetched, so that nothing can be verified.
   * @param keyId key id in the token; a set without it is fetched again, because keys may have changed
   */
  keysFor(url: string, keyId: string | undefined): Promise<readonly PublicKey[] | undefined>;
  /** Whether `keysFor` would answer from the cache. */
  has(url: string, keyId: string | undefined): boolean;
}

export interface KeptKeySets extends KeySets {
  /** Error of the last fetch of a set; undefined if it succeeded. For logs, because it names the remote server. */
  failureAt(url: string): unknown;
}

export interface KeySetTimes {
  /** Age up to which keys are used without a refresh. */
  readonly freshMs: number;
  /** Age from which keys are refreshed in the background. */
  readonly agingMs: number;
  /** Age up to which keys are used while the issuer does not answer. */
  readonly usableMs: number;
  /** Minimum time between two requests for the same set. */
  readonly coolDownMs: number;
  /** Minimum time between two requests because of a missing key. */
  readonly missingMs: number;
}

export interface KeySetSource {
  readonly clock: Clock;
  readonly times: KeySetTimes;
  /** Maximum number of cached sets. The least recently used one is evicted. */
  readonly maxSets: number;
  /** Maximum number of concurrent fetches. */
  readonly maxFetches: number;
  /** Shared counter, if several caches have a common bound. */
  readonly together?: FetchesTogether;
  /** Rejects if the set cannot be fetched. Enforces bounds of time, size and allowed addresses. */
  fetchKeys(url: string): Promise<readonly PublicKey[]>;
}

/** Counts the concurrent fetches of several caches. */
interface FetchesTogether {
  underWay: number;
  readonly max: number;
}

interface KeptSet {
  keys: readonly PublicKey[] | undefined;
  /** When the keys were fetched. */
  fetchedAt: number;
  /** When the keys were last requested, successfully or not. */
  askedAt: number;
  /** When they were last requested because of a missing key. */
  missedAt: number;
  asking: Promise<void> | undefined;
  failure: unknown;
}

/** Per account, so that one account cannot evict the sets of others or use up their fetches. */
const maxSets = 256;
const maxFetches = 16;
const maxFetchesTogether = 256;
/** Maximum number of accounts with cached sets. */
const maxAccounts = 4096;
const minute = 60_000;
const times: KeySetTimes = {
  freshMs: 15 * minute,
  agingMs: 12 * minute,
  usableMs: 24 * 60 * minute,
  coolDownMs: minute / 2,
  missingMs: minute / 2,
};

const jsonTypes =
  /^(?:application\/(?:[\w.-]+\+)?json|text\/plain|application\/octet-stream|binary\/octet-stream)(?:$|[\s;])/i;

/** The key sets of each account, by its id. */
export type KeySetsOf = (accountId: string) => KeySets;

/** @param outbound enforces bounds of time, size and allowed addresses */
export function openKeySets(outbound: Outbound): KeySetsOf {
  const accounts = new Lru<string, KeySets>(maxAccounts);
  const together = { underWay: 0, max: maxFetchesTogether };
  const source = { clock: outbound.clock, times, maxSets, maxFetches, together };
  return (accountId) => {
    let sets = accounts.get(accountId);
    if (!sets) {
      sets = keepKeySets({ ...source, fetchKeys: (url) => fetchKeys(outbound, url, accountId) });
      accounts.set(accountId, sets);
    }
    return sets;
  };
}

export function keepKeySets({ clock, times, maxSets, fetchKeys, ...bounds }: KeySetSource): KeptKeySets {
  const { maxFetches, together = { underWay: 0, max: maxFetches } } = bounds;
  const sets = new Lru<string, KeptSet>(maxSets);
  const { monotonic } = clock;
  let fetching = 0;

  const isFree = (): boolean => fetching < maxFetches && together.underWay < together.max;
  const mayAsk = (set: KeptSet): boolean => isFree() && monotonic() - set.askedAt >= times.coolDownMs;
  const mayMiss = (set: KeptSet): boolean => monotonic() - set.missedAt >= times.missingMs;
  /** Never rejects. Without an answer, the set stays unchanged. */
  const ask = (url: string, set: KeptSet): Promise<void> => {
    set.askedAt = monotonic();
    fetching += 1;
    together.underWay += 1;
    set.asking = fetchKeys(url)
      .then((keys) => {
        set.keys = keys;
        set.fetchedAt = monotonic();
        set.failure = undefined;
      })
      .catch((error: unknown) => {
        set.failure = error;
      })
      .finally(() => {
        fetching -= 1;
        together.underWay -= 1;
        set.asking = undefined;
      });
    return set.asking;
  };
  const ageOf = (set: KeptSet): number => monotonic() - set.fetchedAt;
  const knows = (set: KeptSet, keyId: string | undefined): boolean =>
    set.keys !== undefined && (keyId === undefined || set.keys.some(({ id }) => id === keyId));

  return {
    async keysFor(url, keyId) {
      const inSameWork = captureWork();
      let set = sets.get(url);
      if (!set) {
        const never = -Infinity;
        set = {
          keys: undefined,
          fetchedAt: never,
          askedAt: never,
          missedAt: never,
          asking: undefined,
          failure: undefined,
        };
        sets.set(url, set);
      }
      const age = ageOf(set);
      const isFresh = age < times.freshMs;
      if (isFresh && knows(set, keyId)) {
        if (age >= times.agingMs && !set.asking && mayAsk(set)) void ask(url, set);
      } else if (set.asking) inSameWork(await set.asking);
      else if (mayAsk(set) && (!isFresh || mayMiss(set))) {
        if (isFresh) set.missedAt = monotonic();
        inSameWork(await ask(url, set));
      }
      return ageOf(set) < times.usableMs ? set.keys : undefined;
    },
    has(url, keyId) {
      const set = sets.get(url);
      return set !== undefined && knows(set, keyId) && ageOf(set) < times.freshMs;
    },
    failureAt: (url) => sets.get(url)?.failure,
  };
}

async function fetchKeys(outbound: Outbound, url: string, asker: string): Promise<readonly PublicKey[]> {
  const inSameWork = captureWork();
  const { status, headers, body } = inSameWork(
    await outbound.send({
      method: "GET",
      url: new URL(url),
      asker,
      headers: { accept: "application/jwk-set+json, application/json" },
    }),
  );
  if (status !== 200) throw new Error(`fetch key set "${url}": the answer is ${status}`);
  const type = headers["content-type"];
  if (type !== undefined && !jsonTypes.test(type)) throw new Error(`fetch key set "${url}": the answer is not JSON`);
  return readKeySet(body);
}
