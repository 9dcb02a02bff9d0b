/** Counts connections or requests, with rates and durations. */

/** Number of durations that percentiles are computed from. */
const sampled = 1024;
const tickMs = 5_000;
const minutes = [1, 5, 15] as const;
/** Ticks after which an average has decayed to zero. */
const forgotten = 5_000;

export interface Measured {
  /** Total since the start. */
  readonly count: number;
  /** Number that are open. */
  readonly gauge: number;
  /** Per second, averaged over 1, 5 and 15 minutes. */
  readonly rates: readonly number[];
  /** Percentile of the most recent durations, milliseconds; 0 if there are none. */
  percentile(share: number): number;
}

export class Meter {
  readonly #monotonic: () => number;
  readonly #durations: number[] = [];
  readonly #rates = [0, 0, 0];
  #next = 0;
  #count = 0;
  #gauge = 0;
  /** Number started since the last tick. */
  #fresh = 0;
  #tick: number;
  #isFirst = true;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#tick = monotonic();
  }

  /** @param now monotonic time, if the caller already has it */
  begin(now = this.#monotonic()): void {
    this.#catchUp(now);
    this.#count += 1;
    this.#gauge += 1;
    this.#fresh += 1;
  }

  end(durationMs: number): void {
    this.#gauge -= 1;
    this.#durations[this.#next] = durationMs;
    this.#next = (this.#next + 1) % sampled;
  }

  read(): Measured {
    const now = this.#monotonic();
    this.#catchUp(now);
    // Before the first tick the rate is computed from the total.
    const sinceStart = this.#fresh / Math.max(1, (now - this.#tick) / 1000);
    const sorted = this.#durations.toSorted((one, other) => one - other);
    return {
      count: this.#count,
      gauge: this.#gauge,
      rates: this.#isFirst ? [sinceStart, sinceStart, sinceStart] : [...this.#rates],
      percentile: (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0,
    };
  }

  /** Updates exponentially weighted averages, as load averages are. Nothing runs between reads. */
  #catchUp(now: number): void {
    if (now - this.#tick < tickMs) return;
    const ticks = Math.min(forgotten, Math.floor((now - this.#tick) / tickMs));
    for (let tick = 0; tick < ticks; tick += 1) {
      const rate = this.#fresh / (tickMs / 1000);
      this.#fresh = 0;
      for (const [at, span] of minutes.entries()) {
        const weight = 1 - Math.exp(-tickMs / (span * 60_000));
        const before = this.#rates[at] as number;
        this.#rates[at] = this.#isFirst ? rate : before + weight * (rate - before);
      }
      this.#isFirst = false;
    }
    this.#tick = ticks === forgotten ? now : this.#tick + ticks * tickMs;
  }
}
