/** What has ended lately, and why: what an operator is told who asks by the id of a request or connection. */
import type { Clock } from "../../lib/clock.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";
import { LargestFirst } from "./largest-first.ts";
import { Ring } from "../../lib/collections/ring.ts";

export interface TraceLimits {
  /** Kept of each account that were denied, answered here or failed. */
  readonly ended: number;
  /** Kept of the others, which are only a sample. */
  readonly forwarded: number;
  /** Of all accounts together; beyond it the one with the most loses its oldest. */
  readonly total: number;
  /** Forwarded ones that are noted of an account in a second, and at once. */
  readonly sampled: { readonly perSecond: number; readonly burst: number };
}

export const defaultTraceLimits: TraceLimits = Object.freeze({
  ended: 500,
  forwarded: 100,
  total: 20_000,
  sampled: { perSecond: 5, burst: 50 },
});

/** Of requests or of connections, which are `Finished` when they are noted. */
export interface Traces<Finished, Trace> {
  note(finished: Finished): void;
  find(accountId: string, id: string): Trace | undefined;
  /** Newest first, of those that fit and sort before `beforeId`. */
  list(
    accountId: string,
    limit: number,
    beforeId: string | undefined,
    fits?: TraceFilter,
  ): { readonly found: readonly Trace[]; readonly more: boolean };
}

export interface TraceFilter {
  readonly outcome?: string | undefined;
  /** In what names it, without regard to case. */
  readonly text?: string | undefined;
}

export interface TraceKind<Finished, Trace extends { readonly id: string; readonly outcome: string }> {
  /** Those of none are not kept. */
  accountOf(finished: Finished): string | undefined;
  /** Whether it ended here, or went on to an upstream as most do. */
  isEnded(finished: Finished): boolean;
  /** @param endedAt milliseconds since 1970 */
  traceOf(finished: Finished, endedAt: number): Trace;
  /** What people look for it by. */
  namesOf(trace: Trace): string;
}

/** Share of an account's traces that it loses when there are too many in all. */
const lost = 0.1;

interface AccountTraces<Trace> {
  readonly ended: Ring<Trace>;
  readonly forwarded: Ring<Trace>;
  readonly sampled: Rate;
}

export function makeTraces<Finished, Trace extends { readonly id: string; readonly outcome: string }>(
  { accountOf, isEnded, traceOf, namesOf }: TraceKind<Finished, Trace>,
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
    list(accountId, limit, beforeId, { outcome, text } = {}) {
      const wanted = text?.toLowerCase();
      const older = all(accountId).filter(
        (one) =>
          (beforeId === undefined || one.id < beforeId) &&
          (outcome === undefined || one.outcome === outcome) &&
          (wanted === undefined || namesOf(one).toLowerCase().includes(wanted)),
      );
      older.sort((one, other) => (one.id < other.id ? 1 : -1));
      return { found: older.slice(0, limit), more: older.length > limit };
    },
  };
}

function sizeOf({ ended, forwarded }: AccountTraces<unknown>): number {
  return ended.size + forwarded.size;
}
