/** Resolves names with a cache, shared queries and limits, so that an unresponsive name does not delay other names. */
import type { LookupAddress } from "node:dns";
import type { Clock } from "../../lib/clock.ts";
import { NameError } from "./ask.ts";
import type { NameAnswer, Ask } from "./ask.ts";

export interface NameResolver {
  /**
   * Calls `done` once, now or later, with at least one address or with an error.
   * @param asker account or part of the server that resolves; each has a share of the queries
   * @returns a function that cancels: `done` is not called any more
   */
  resolve(name: string, asker: string, done: (found: readonly LookupAddress[] | Error) => void): () => void;
}

export interface ResolverLimits {
  /** Maximum number of concurrent queries, in total and per asker. */
  readonly queries: number;
  readonly queriesPerAsker: number;
  /** Maximum number of callers that wait for one name. */
  readonly waitingPerName: number;
  /** Maximum number of cached names. */
  readonly cached: number;
}

export const usualLimits: ResolverLimits = {
  queries: 4_096,
  queriesPerAsker: 256,
  waitingPerName: 4_096,
  cached: 10_000,
};

/** Limits on the time for which an answer is cached. */
const minTtlMs = 1_000;
const maxTtlMs = 300_000;
const notFoundTtlMs = 5_000;
const failedTtlMs = 1_000;

type Done = (found: readonly LookupAddress[] | Error) => void;

interface Query {
  readonly asker: string;
  /** Each waiter is a separate object, because one function may wait twice. */
  readonly waiting: Set<{ readonly done: Done }>;
}

interface Known {
  readonly until: number;
  readonly result: readonly LookupAddress[] | Error;
  /** Incremented with each use to rotate equal addresses. */
  turn: number;
}

export function makeNameResolver(clock: Clock, ask: Ask, limits = usualLimits): NameResolver {
  const queries = new Map<string, Query>();
  const known = new Map<string, Known>();
  const perAsker = new Map<string, number>();

  const fresh = (name: string): Known | undefined => {
    const found = known.get(name);
    if (found && found.until <= clock.monotonic()) known.delete(name);
    return found && found.until > clock.monotonic() ? found : undefined;
  };
  const remember = (name: string, result: Known["result"], ttlMs: number): Known => {
    known.delete(name);
    // Remove the oldest answer.
    if (known.size >= limits.cached) known.delete(known.keys().next().value as string);
    const one = { until: clock.monotonic() + ttlMs, result, turn: 0 };
    known.set(name, one);
    return one;
  };
  const settle = (name: string, query: Query, result: Known["result"], ttlMs: number): void => {
    const one = remember(name, result, ttlMs);
    queries.delete(name);
    const left = (perAsker.get(query.asker) ?? 1) - 1;
    if (left === 0) perAsker.delete(query.asker);
    else perAsker.set(query.asker, left);
    for (const { done } of query.waiting) done(inTurn(one));
  };
  const start = (name: string, asker: string): Query => {
    const query: Query = { asker, waiting: new Set() };
    queries.set(name, query);
    perAsker.set(asker, (perAsker.get(asker) ?? 0) + 1);
    ask(name).then(
      ({ addresses, ttlMs }: NameAnswer) => {
        settle(name, query, addresses, Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs));
      },
      (error: unknown) => {
        const isAbsent = error instanceof NameError && error.code === "ENOTFOUND";
        settle(name, query, asError(error), isAbsent ? notFoundTtlMs : failedTtlMs);
      },
    );
    return query;
  };
  /** Returns why no more queries are allowed, or undefined. */
  const full = (name: string, asker: string): string | undefined => {
    const query = queries.get(name);
    if (query) {
      return query.waiting.size < limits.waitingPerName
        ? undefined
        : `${limits.waitingPerName} requests already wait for it`;
    }
    if ((perAsker.get(asker) ?? 0) >= limits.queriesPerAsker) {
      return `${limits.queriesPerAsker} names are already being looked up for ${asker}`;
    }
    return queries.size < limits.queries ? undefined : `${limits.queries} names are already being looked up`;
  };
  return {
    resolve(given, asker, done) {
      const name = given.toLowerCase();
      const found = fresh(name);
      if (found) {
        done(inTurn(found));
        return doNothing;
      }
      const why = full(name, asker);
      if (why !== undefined) {
        done(new NameError("EAI_AGAIN", `look up "${name}": ${why}; try again later`));
        return doNothing;
      }
      const { waiting } = queries.get(name) ?? start(name, asker);
      const waiter = { done };
      waiting.add(waiter);
      return () => void waiting.delete(waiter);
    },
  };
}

const doNothing = (): void => {};

/** Rotates the addresses of each family. The order of the families is preserved. */
function inTurn(one: Known): readonly LookupAddress[] | Error {
  const { result } = one;
  if (result instanceof Error || result.length === 1) return result;
  const turn = one.turn++;
  const firstFamily = result[0]?.family;
  const second = result.findIndex(({ family }) => family !== firstFamily);
  const split = second === -1 ? result.length : second;
  return [...rotateList(result.slice(0, split), turn), ...rotateList(result.slice(split), turn)];
}

function rotateList<T>(list: readonly T[], by: number): readonly T[] {
  const at = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
