/**
 * Key sets of issuers, fetched when they are first needed and kept (security I1, I7). One fetch of a set is under way
 * at a time, and tokens cannot cause more than a few: who sends them chooses the name of the key that is looked for.
 */
import type { Clock } from "../lib/clock.ts";
import { Lru } from "../lib/collections/lru.ts";
import type { Outbound } from "../outbound/client.ts";
import { readKeySet } from "./key-set.ts";
import type { PublicKey } from "./key-set.ts";

export interface KeySets {
  /**
   * Keys at a URL. Undefined when there are none to be had: then nothing can be verified.
   * @param keyId name that a token gives its key; a set without it is fetched anew, as keys may have changed
   */
  keysFor(url: string, keyId: string | undefined): Promise<readonly PublicKey[] | undefined>;
  /** Whether `keysFor` would answer from what it has. */
  has(url: string, keyId: string | undefined): boolean;
}

export interface KeptKeySets extends KeySets {
  /** What the last fetch of a set failed with; undefined when it did not. For logs: it says who is called. */
  failureAt(url: string): unknown;
}

export interface KeySetTimes {
  /** Keys are taken as they are for so long. */
  readonly freshMs: number;
  /** Asked for again from here on, without anyone waiting. */
  readonly agingMs: number;
  /** While the issuer does not answer, keys are used for so long. */
  readonly usableMs: number;
  /** Between two requests for one set, whatever they are for. */
  readonly coolDownMs: number;
  /** Between two requests for a key that a set lacks. */
  readonly missingMs: number;
}

export interface KeySetSource {
  readonly clock: Clock;
  readonly times: KeySetTimes;
  /** Sets that are kept; more push out the one unused for longest. */
  readonly maxSets: number;
  /** Fetches under way at a time. */
  readonly maxFetches: number;
  /** Shared with others, where all together are bounded as well. */
  readonly together?: FetchesTogether;
  /** Rejects when there is no set to be had. Bounds time and size, and says where key sets may be. */
  fetchKeys(url: string): Promise<readonly PublicKey[]>;
}

/** Fetches of several sources, counted as one. */
interface FetchesTogether {
  underWay: number;
  readonly max: number;
}

interface KeptSet {
  keys: readonly PublicKey[] | undefined;
  /** When they came. */
  fetchedAt: number;
  /** When they were last asked for, whatever came of it. */
  askedAt: number;
  /** When they were last asked for because of a key that they lacked. */
  missedAt: number;
  asking: Promise<void> | undefined;
  failure: unknown;
}

/** Of one account: what it asks for costs others neither their sets nor their fetches. */
const maxSets = 256;
const maxFetches = 16;
const maxFetchesTogether = 256;
/** Accounts whose sets are kept. */
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

/** @param outbound bounds of time and size, and where key sets may be */
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
  /** Never rejects: without an answer, the set stays as it is. */
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
      } else if (set.asking) await set.asking;
      else if (mayAsk(set) && (!isFresh || mayMiss(set))) {
        if (isFresh) set.missedAt = monotonic();
        await ask(url, set);
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
  const { status, headers, body } = await outbound.send({
    method: "GET",
    url: new URL(url),
    asker,
    headers: { accept: "application/jwk-set+json, application/json" },
  });
  if (status !== 200) throw new Error(`fetch key set "${url}": the answer is ${status}`);
  const type = headers["content-type"];
  if (type !== undefined && !jsonTypes.test(type)) throw new Error(`fetch key set "${url}": the answer is not JSON`);
  return readKeySet(body);
}
