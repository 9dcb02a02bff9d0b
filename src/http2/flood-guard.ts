/** Actions that cost the server more than the client, and whose rate is therefore limited (security D1). */
export type Nuisance = keyof typeof budgets;

/** Burst and sustained rate per second. Well above browsers, gRPC and load generators, and far below harmful rates. */
export const budgets = {
  /** Streams that the client reset, or made the server reset or refuse (CVE-2023-44487, CVE-2025-8671). */
  resets: { burst: 200, perSecond: 30 },
  settings: { burst: 20, perSecond: 1 },
  pings: { burst: 100, perSecond: 10 },
  priorities: { burst: 500, perSecond: 50 },
  /** Frames without payload that end nothing, and frames of meaningless types. */
  hollow: { burst: 100, perSecond: 10 },
  /** In addition to those that the server's DATA frames allow. */
  windowUpdates: { burst: 1000, perSecond: 100 },
} as const;

/** WINDOW_UPDATE frames that each sent DATA frame allows. */
const updatesPerData = 4;

/** Counts nuisances on one connection. */
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

  /** Counts one nuisance. Returns false if there were too many and the connection must be closed. */
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
