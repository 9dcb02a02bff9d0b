/** What a client may do only so often, because it costs the server more than the client (security D1). */
export type Nuisance = keyof typeof budgets;

/**
 * How many at once, and how many a second in the long run. Well above what browsers, gRPC and load generators do
 * and far below what hurts.
 */
export const budgets = {
  /** Streams reset by the client, and those that it made us reset or refuse (CVE-2023-44487, CVE-2025-8671). */
  resets: { burst: 200, perSecond: 30 },
  settings: { burst: 20, perSecond: 1 },
  pings: { burst: 100, perSecond: 10 },
  priorities: { burst: 500, perSecond: 50 },
  /** Frames without payload that end nothing, and types that mean nothing here. */
  hollow: { burst: 100, perSecond: 10 },
  /** Beside those that DATA sent by us has earned. */
  windowUpdates: { burst: 1000, perSecond: 100 },
} as const;

/** WINDOW_UPDATE frames that each DATA frame sent makes legitimate. */
const updatesPerData = 4;

/** Keeps count of nuisances on one connection. */
export class FloodGuard {
  readonly #spent: Record<Nuisance, number> = {
    resets: 0,
    settings: 0,
    pings: 0,
    priorities: 0,
    hollow: 0,
    windowUpdates: 0,
  };
  #at: number;

  /** @param now monotonic milliseconds */
  constructor(now: number) {
    this.#at = now;
  }

  /** Counts one; false when there have been too many: the connection is to be closed. */
  allow(nuisance: Nuisance, now: number): boolean {
    const spent = this.#spent;
    if (now > this.#at) {
      const seconds = (now - this.#at) / 1000;
      this.#at = now;
      for (const name in budgets) {
        const each = name as Nuisance;
        spent[each] = Math.max(0, spent[each] - seconds * budgets[each].perSecond);
      }
    }
    spent[nuisance] += 1;
    return spent[nuisance] <= budgets[nuisance].burst;
  }

  /** A DATA frame was sent. */
  earn(): void {
    this.#spent.windowUpdates = Math.max(0, this.#spent.windowUpdates - updatesPerData);
  }
}
