import type { Clock } from "../../lib/clock.ts";

/** So many per second on average, and `burst` at once. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  #level: number;
  #filledAt: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#level = burst;
    this.#filledAt = clock.monotonic();
  }

  /** False when the rate is used up; nothing is taken then. */
  take(count = 1): boolean {
    if (this.#level < count) this.#fill();
    if (this.#level < count) return false;
    this.#level -= count;
    return true;
  }

  /** Adds to what can be taken, up to the burst. */
  give(count: number): void {
    this.#level = Math.min(this.#burst, this.#level + count);
  }

  /** Milliseconds until `count` can be taken. */
  waitMs(count = 1): number {
    this.#fill();
    return Math.max(0, Math.ceil((count - this.#level) / this.#perMs));
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    this.#level = Math.min(this.#burst, this.#level + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
  }
}
