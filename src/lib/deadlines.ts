import { endUnit } from "./boundary.ts";
import type { Unit } from "./boundary.ts";
import type { Clock, Timer } from "./clock.ts";
import { Roster, Seat } from "./collections/roster.ts";

/** Something that must happen by a time. Its owner is the caller of `add`. */
export interface Timed extends Unit {
  /** In `Deadlines.now`; Infinity for never. Changing it is cheap: it is only an assignment. */
  expiresAt: number;
  /** Called when the time has passed. If it does not move `expiresAt`, it is called again at the next tick. */
  expired(): void;
}

/**
 * One coarse timer for all connections. A tick visits all of them, so that a request needs no separate timer and no
 * clock read. Deadlines are accurate to one tick.
 */
export class Deadlines {
  /** Milliseconds, monotonic, as of the last tick. */
  now: number;
  readonly #entries = new Roster<DeadlineEntry>();
  readonly #timer: Timer;

  constructor(clock: Clock, tickMs = 500) {
    this.now = clock.monotonic();
    this.#timer = clock.every(tickMs, () => {
      this.now = clock.monotonic();
      // from the end: the last entry replaces a removed one, so that none is skipped
      for (let place = this.#entries.size - 1; place >= 0; place -= 1) {
        if (place >= this.#entries.size) continue;
        const entry = this.#entries.at(place);
        const { member } = entry;
        if (member.expiresAt > this.now) continue;
        try {
          member.expired();
        } catch (error) {
          // Cancelled, because it would throw again at each tick.
          entry.cancel();
          endUnit("timer", member, error);
        }
      }
    });
  }

  /** Watches a deadline until it is cancelled. */
  add(timed: Timed): Timer {
    return new DeadlineEntry(this.#entries, timed);
  }

  /** Calls `run` once, for calls that rarely happen: a timer of the clock costs several times as much. */
  after(delayMs: number, run: () => void): Timer {
    const once = new OnceEntry(this.now + delayMs, run);
    return (once.entry = this.add(once));
  }

  stop(): void {
    this.#timer.cancel();
    for (const entry of this.#entries.members()) entry.cancel();
  }
}

class DeadlineEntry extends Seat<Timed> implements Timer {
  readonly #all: Roster<DeadlineEntry>;

  constructor(all: Roster<DeadlineEntry>, timed: Timed) {
    super(timed);
    this.#all = all;
    all.add(this);
  }

  cancel(): void {
    this.#all.delete(this);
  }
}

class OnceEntry implements Timed {
  entry: Timer | undefined;
  readonly expiresAt: number;
  readonly #run: () => void;

  constructor(expiresAt: number, run: () => void) {
    this.expiresAt = expiresAt;
    this.#run = run;
  }

  expired(): void {
    this.entry?.cancel();
    this.#run();
  }
}
