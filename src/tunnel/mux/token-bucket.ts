import type { Clock } from "../../lib/clock.ts";

/** Rate limit: an average per second, and a maximum `burst`. */
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

  /** Takes `count` tokens. If too few are left, takes none and returns false. */
  take(count = 1): boolean {
    if (this.#level < count) this.#fill();
    if (this.#level < count) return false;
    this.#level -= count;
    return true;
  }

  /** Adds tokens, up to the burst. */
  give(count: number): void {
    this.#level = Math.min(this.#burst, this.#level + count);
  }

  /** Returns the milliseconds until `count` tokens are available. */
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
