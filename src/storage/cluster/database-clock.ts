/** The database's clock as a node knows it: read with each renewal of its lease, and compared with its own. */

interface Sample {
  /** Microseconds that the database's clock is ahead of ours. */
  readonly ahead: number;
  /** Milliseconds that the answer took: it is wrong by half of that at most. */
  readonly tookMs: number;
}

/** Of about a minute: the clocks drift by less than an answer takes. */
const maxSamples = 32;

export class DatabaseClock {
  #samples: readonly Sample[] = [];
  #best: Sample | undefined;

  /** @param sentMs and @param answeredMs when it was asked, see `Clock.monotonic`; @param micros what it said */
  take(sentMs: number, answeredMs: number, micros: number): void {
    const sample = { ahead: micros - ((sentMs + answeredMs) / 2) * 1000, tookMs: answeredMs - sentMs };
    // Another server, or one whose clock was set: what was known of it says nothing any more.
    const fits = this.#samples.filter(
      (one) => Math.abs(one.ahead - sample.ahead) <= (one.tookMs + sample.tookMs) * 1000,
    );
    this.#samples = [...fits.slice(1 - maxSamples), sample];
    this.#best = this.#samples.reduce((best, one) => (one.tookMs <= best.tookMs ? one : best));
  }

  /** Microseconds since 1970 by the database at that moment of ours; 0 before it was ever asked. */
  at(monotonicMs: number): number {
    return this.#best ? Math.round(monotonicMs * 1000 + this.#best.ahead) : 0;
  }
}
