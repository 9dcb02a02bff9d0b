/**
 * A node's estimate of the database's clock. Each renewal of its lease reads that clock and compares it with the node's
 * own.
 */

interface Sample {
  /** Microseconds that the database's clock is ahead of this node's clock. */
  readonly ahead: number;
  /** Round trip of the query, milliseconds. The error of the sample is half of that at most. */
  readonly tookMs: number;
}

/** Samples of about a minute: in that time the clocks drift by less than a round trip. */
const maxSamples = 32;

export class DatabaseClock {
  #samples: readonly Sample[] = [];
  #best: Sample | undefined;

  /**
   * @param sentMs when the query was sent, see `Clock.monotonic`
   * @param answeredMs when the response arrived
   * @param micros the time in the response
   */
  take(sentMs: number, answeredMs: number, micros: number): void {
    const sample = { ahead: micros - ((sentMs + answeredMs) / 2) * 1000, tookMs: answeredMs - sentMs };
    // Another server, or a server with a changed clock: earlier samples are invalid.
    const fits = this.#samples.filter(
      (one) => Math.abs(one.ahead - sample.ahead) <= (one.tookMs + sample.tookMs) * 1000,
    );
    this.#samples = [...fits.slice(1 - maxSamples), sample];
    this.#best = this.#samples.reduce((best, one) => (one.tookMs <= best.tookMs ? one : best));
  }

  /** Returns microseconds since 1970 by the database at a time of this node; 0 before the first query. */
  at(monotonicMs: number): number {
    return this.#best ? Math.round(monotonicMs * 1000 + this.#best.ahead) : 0;
  }
}
