/** The requests that have ended lately, and why: what an operator is told who asks by a request id. */
import type { Clock } from "../../lib/clock.ts";
import { codeOf, outcomeOf, stepReports } from "../../routing/planes/questions.ts";
import type { RequestTrace } from "../../routing/planes/questions.ts";
import type { FinishedExchange } from "../http/context.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";
import { Ring } from "../../lib/ring.ts";

export interface TraceLimits {
  /** Requests kept of each account that were denied, answered here or failed. */
  readonly ended: number;
  /** Kept of the others, which are only a sample. */
  readonly forwarded: number;
  /** Of all accounts together; beyond it the one with the most loses its oldest. */
  readonly total: number;
  /** Forwarded requests that are noted of an account in a second, and at once. */
  readonly sampled: { readonly perSecond: number; readonly burst: number };
}

export const defaultTraceLimits: TraceLimits = Object.freeze({
  ended: 500,
  forwarded: 100,
  total: 20_000,
  sampled: { perSecond: 5, burst: 50 },
});

export interface Traces {
  note(exchange: FinishedExchange): void;
  find(accountId: string, id: string): RequestTrace | undefined;
  /** Newest first, of those that sort before `beforeId`. */
  list(
    accountId: string,
    limit: number,
    beforeId: string | undefined,
  ): { readonly requests: readonly RequestTrace[]; readonly more: boolean };
}

/** Characters of a path that are kept. */
const maxPath = 2048;
/** Share of an account's requests that it loses when there are too many in all. */
const lost = 0.1;

interface AccountTraces {
  readonly ended: Ring<RequestTrace>;
  readonly forwarded: Ring<RequestTrace>;
  readonly sampled: Rate;
}

export function makeTraces(clock: Clock, limits: TraceLimits): Traces {
  const accounts = new Map<string, AccountTraces>();
  let total = 0;

  const tracesOf = (accountId: string): AccountTraces => {
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
    let most: readonly [string, AccountTraces] | undefined;
    for (const one of accounts) if (!most || sizeOf(one[1]) > sizeOf(most[1])) most = one;
    if (!most) return;
    const [accountId, ofAccount] = most;
    let count = Math.ceil(sizeOf(ofAccount) * lost);
    total -= count;
    for (; count > 0; count -= 1) if (!ofAccount.forwarded.drop()) ofAccount.ended.drop();
    if (sizeOf(ofAccount) === 0) accounts.delete(accountId);
  };
  const all = (accountId: string): RequestTrace[] => {
    const ofAccount = accounts.get(accountId);
    return ofAccount ? [...ofAccount.ended, ...ofAccount.forwarded] : [];
  };
  return {
    note(exchange) {
      const { accountId, steps, cutShort } = exchange;
      if (accountId === undefined) return;
      const isEnded = cutShort || steps.at(-1)?.answer !== undefined;
      const ofAccount = tracesOf(accountId);
      if (!isEnded && !ofAccount.sampled.take()) return;
      const ring = isEnded ? ofAccount.ended : ofAccount.forwarded;
      if (ring.put(traceOf(exchange, clock.now()))) total += 1;
      if (total > limits.total) makeRoom();
    },
    find: (accountId, id) => all(accountId).find((one) => one.id === id),
    list(accountId, limit, beforeId) {
      const older = all(accountId).filter(({ id }) => beforeId === undefined || id < beforeId);
      older.sort((one, other) => (one.id < other.id ? 1 : -1));
      return { requests: older.slice(0, limit), more: older.length > limit };
    },
  };
}

function sizeOf({ ended, forwarded }: AccountTraces): number {
  return ended.size + forwarded.size;
}

function traceOf(exchange: FinishedExchange, endedAt: number): RequestTrace {
  const { id, method, host, path, source, siteId = "", routeId, status, bytesIn, bytesOut, cutShort, steps } = exchange;
  const last = steps.at(-1);
  return {
    id,
    endedAt,
    method,
    host,
    path: path.slice(0, maxPath),
    source,
    siteId,
    routeId,
    outcome: cutShort ? "failed" : outcomeOf(last, last?.answer, status),
    status,
    errorCode: codeOf(last?.answer),
    durationMs: Math.round(exchange.durationMs * 1000) / 1000,
    bytesIn,
    bytesOut,
    cutShort,
    steps: stepReports(steps),
  };
}
