/** Recent requests and connections with the reason each one ended, looked up by id. */
import type { Clock } from "../../lib/clock.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";
import { LargestFirst } from "./largest-first.ts";
import { timeOfId } from "../../lib/traffic-ids.ts";
import type { TrafficFilter } from "../../routing/planes/edge-questions.ts";
import { Ring } from "../../lib/collections/ring.ts";

export interface TraceLimits {
  /** Maximum number of denied, answered or failed ones per account. */
  readonly ended: number;
  /** Maximum number of forwarded ones per account, which are a sample. */
  readonly forwarded: number;
  /** Maximum number over all accounts. Beyond it, the account with the most loses its oldest. */
  readonly total: number;
  /** Rate at which an account's forwarded ones are recorded. */
  readonly sampled: { readonly perSecond: number; readonly burst: number };
}

export const defaultTraceLimits: TraceLimits = Object.freeze({
  ended: 500,
  forwarded: 100,
  total: 20_000,
  sampled: { perSecond: 5, burst: 50 },
});

/** Traces of requests or of connections, which are `Finished` when they are recorded. */
export interface Traces<Finished, Trace> {
  note(finished: Finished): void;
  find(accountId: string, id: string): Trace | undefined;
  /** Returns the newest matching traces before `beforeId`, newest first. */
  list(
    accountId: string,
    limit: number,
    beforeId: string | undefined,
    fits?: TraceFilter,
  ): { readonly found: readonly Trace[]; readonly more: boolean };
}

export interface TraceFilter {
  readonly outcome?: string | undefined;
  /** Text to find in a trace's names, ignoring case. */
  readonly text?: string | undefined;
  /** Began at or after, and before this time, milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly filter?: TrafficFilter | undefined;
}

export interface TraceKind<Finished, Trace extends { readonly id: string; readonly outcome: string }> {
  /** Returns the account. Without one, nothing is stored. */
  accountOf(finished: Finished): string | undefined;
  /** Whether it ended at the edge instead of being forwarded. */
  isEnded(finished: Finished): boolean;
  /** @param endedAt milliseconds since 1970 */
  traceOf(finished: Finished, endedAt: number): Trace;
  /** Whether every given condition holds. */
  fits(trace: Trace, filter: TrafficFilter): boolean;
  /** Returns the text that searches match. */
  namesOf(trace: Trace): string;
}

/** Share of an account's traces that it loses when the total is exceeded. */
const lost = 0.1;

interface AccountTraces<Trace> {
  readonly ended: Ring<Trace>;
  readonly forwarded: Ring<Trace>;
  readonly sampled: Rate;
}

export function makeTraces<Finished, Trace extends { readonly id: string; readonly outcome: string }>(
  { accountOf, isEnded, traceOf, fits, namesOf }: TraceKind<Finished, Trace>,
  clock: Pick<Clock, "now" | "monotonic">,
  limits: TraceLimits,
): Traces<Finished, Trace> {
  const accounts = new Map<string, AccountTraces<Trace>>();
  const sizes = new LargestFirst<string>();
  let total = 0;

  const tracesOf = (accountId: string): AccountTraces<Trace> => {
    let ofAccount = accounts.get(accountId);
    if (!ofAccount) {
      const { perSecond, burst } = limits.sampled;
      ofAccount = {
        ended: new Ring(limits.ended),
        forwarded: new Ring(limits.forwarded),
        sampled: makeRate(perSecond, burst, () => clock.monotonic()),
      };
      accounts.set(accountId, ofAccount);
    }
    return ofAccount;
  };
  const makeRoom = (): void => {
    const accountId = sizes.largest;
    const ofAccount = accountId === undefined ? undefined : accounts.get(accountId);
    if (accountId === undefined || ofAccount === undefined) return;
    let count = Math.ceil(sizeOf(ofAccount) * lost);
    total -= count;
    for (; count > 0; count -= 1) if (!ofAccount.forwarded.drop()) ofAccount.ended.drop();
    const left = sizeOf(ofAccount);
    sizes.set(accountId, left);
    if (left === 0) accounts.delete(accountId);
  };
  const all = (accountId: string): Trace[] => {
    const ofAccount = accounts.get(accountId);
    return ofAccount ? [...ofAccount.ended, ...ofAccount.forwarded] : [];
  };
  return {
    note(finished) {
      const accountId = accountOf(finished);
      if (accountId === undefined) return;
      const hasEnded = isEnded(finished);
      const ofAccount = tracesOf(accountId);
      if (!hasEnded && !ofAccount.sampled.take()) return;
      const ring = hasEnded ? ofAccount.ended : ofAccount.forwarded;
      if (!ring.put(traceOf(finished, clock.now()))) return;
      total += 1;
      sizes.set(accountId, sizeOf(ofAccount));
      if (total > limits.total) makeRoom();
    },
    find: (accountId, id) => all(accountId).find((one) => one.id === id),
    list(accountId, limit, beforeId, { outcome, text, since = -Infinity, until = Infinity, filter } = {}) {
      const wanted = text?.toLowerCase();
      const older = all(accountId).filter(
        (one) =>
          (beforeId === undefined || one.id < beforeId) &&
          (outcome === undefined || one.outcome === outcome) &&
          (since === -Infinity || startOf(one) >= since) &&
          (until === Infinity || startOf(one) < until) &&
          (filter === undefined || fits(one, filter)) &&
          (wanted === undefined || namesOf(one).toLowerCase().includes(wanted)),
      );
      older.sort((one, other) => (one.id < other.id ? 1 : -1));
      return { found: older.slice(0, limit), more: older.length > limit };
    },
  };
}

/** Ids have the time at which their request or connection began. */
function startOf({ id }: { readonly id: string }): number {
  return timeOfId(id) ?? 0;
}

function sizeOf({ ended, forwarded }: AccountTraces<unknown>): number {
  return ended.size + forwarded.size;
}
