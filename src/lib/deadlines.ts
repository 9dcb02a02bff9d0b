import type { Clock, Timer } from "./clock.ts";

/** Something that must happen by a time; owned by whoever added it. */
export interface Timed {
  /** In `Deadlines.now`; Infinity for never. Set it as often as you like: that is only an assignment. */
  expiresAt: number;
  /** Called when the time has passed; moves `expiresAt`, or is called again at the next tick. */
  expired(): void;
}

/**
 * One coarse timer for all connections: a tick walks over them, so that a request costs no timer and no look at
 * the clock. Deadlines are kept to within a tick.
 */
export class Deadlines {
  /** Milliseconds, monotonic, as of the last tick. */
  now: number;
  readonly #entries = new Set<Timed>();
  readonly #timer: Timer;

  constructor(clock: Clock, tickMs = 500) {
    this.now = clock.monotonic();
    this.#timer = clock.every(tickMs, () => {
      this.now = clock.monotonic();
      for (const entry of this.#entries) if (entry.expiresAt <= this.now) entry.expired();
    });
  }

  add(entry: Timed): void {
    this.#entries.add(entry);
  }

  delete(entry: Timed): void {
    this.#entries.delete(entry);
  }

  stop(): void {
    this.#timer.cancel();
    this.#entries.clear();
  }
}
