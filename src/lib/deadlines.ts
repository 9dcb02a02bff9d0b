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

  /** Calls `run` once, for what seldom comes to that: a timer of the clock's costs several times this. */
  after(delayMs: number, run: () => void): Timer {
    const entry = new Once(this, this.now + delayMs, run);
    this.#entries.add(entry);
    return entry;
  }

  delete(entry: Timed): void {
    this.#entries.delete(entry);
  }

  stop(): void {
    this.#timer.cancel();
    this.#entries.clear();
  }
}

class Once implements Timed, Timer {
  readonly expiresAt: number;
  readonly #all: Deadlines;
  readonly #run: () => void;

  constructor(all: Deadlines, expiresAt: number, run: () => void) {
    this.#all = all;
    this.expiresAt = expiresAt;
    this.#run = run;
  }

  expired(): void {
    this.cancel();
    this.#run();
  }

  cancel(): void {
    this.#all.delete(this);
  }
}
