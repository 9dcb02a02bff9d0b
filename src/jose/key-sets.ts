/**
 * Key sets of issuers, fetched when they are first needed and kept (security I1, I7). One fetch of a set is under way
 * at a time, and tokens cannot cause more than a few: who sends them chooses the name of the key that is looked for.
 */
import { Lru } from "../lib/lru.ts";
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

interface KeptSet {
  keys: readonly PublicKey[] | undefined;
  /** When they came. */
  fetchedAt: number;
  /** When they were last asked for, whatever came of it. */
  askedAt: number;
  asking: Promise<void> | undefined;
}

/** Sets of one server; more push out the one unused for longest. */
const maxSets = 256;
const maxFetches = 16;
/** Keys are taken as they are for so long. */
const freshMs = 15 * 60_000;
/** Asked for again from here on, without anyone waiting. */
const agingMs = 12 * 60_000;
/** While the issuer does not answer, keys are used for so long. */
const usableMs = 24 * 60 * 60_000;
/** Between two requests for one set. */
const coolDownMs = 30_000;

const jsonTypes =
  /^(?:application\/(?:[\w.-]+\+)?json|text\/plain|application\/octet-stream|binary\/octet-stream)(?:$|[\s;])/i;

/** @param outbound bounds of time and size, and where key sets may be */
export function openKeySets(outbound: Outbound): KeySets {
  const sets = new Lru<string, KeptSet>(maxSets);
  const { monotonic } = outbound.clock;
  let fetching = 0;

  const mayAsk = (set: KeptSet): boolean => fetching < maxFetches && monotonic() - set.askedAt >= coolDownMs;
  /** Never rejects: without an answer, the set stays as it is. */
  const ask = (url: string, set: KeptSet): Promise<void> => {
    set.askedAt = monotonic();
    fetching += 1;
    set.asking = fetchKeys(outbound, url)
      .then((keys) => {
        set.keys = keys;
        set.fetchedAt = monotonic();
      })
      .catch(() => undefined)
      .finally(() => {
        fetching -= 1;
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
        set = { keys: undefined, fetchedAt: -Infinity, askedAt: -Infinity, asking: undefined };
        sets.set(url, set);
      }
      const age = ageOf(set);
      if (knows(set, keyId) && age < freshMs) {
        if (age >= agingMs && !set.asking && mayAsk(set)) void ask(url, set);
      } else if (set.asking) await set.asking;
      else if (mayAsk(set)) await ask(url, set);
      return ageOf(set) < usableMs ? set.keys : undefined;
    },
    has(url, keyId) {
      const set = sets.get(url);
      return set !== undefined && knows(set, keyId) && ageOf(set) < freshMs;
    },
  };
}

async function fetchKeys(outbound: Outbound, url: string): Promise<readonly PublicKey[]> {
  const { status, headers, body } = await outbound.send({
    method: "GET",
    url: new URL(url),
    headers: { accept: "application/jwk-set+json, application/json" },
  });
  if (status !== 200) throw new Error(`fetch key set "${url}": the answer is ${status}`);
  const type = headers["content-type"];
  if (type !== undefined && !jsonTypes.test(type)) throw new Error(`fetch key set "${url}": the answer is no JSON`);
  return readKeySet(body);
}
