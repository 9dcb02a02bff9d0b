import { endUnit } from "./boundary.ts";
import type { Unit } from "./boundary.ts";
import type { Clock, Timer } from "./clock.ts";
import { Roster, Seat } from "./collections/roster.ts";

/** Something that must happen by a time; owned by whoever added it. */
export interface Timed extends Unit {
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
  readonly #entries = new Roster<Entry>();
  readonly #timer: Timer;

  constructor(clock: Clock, tickMs = 500) {
    this.now = clock.monotonic();
    this.#timer = clock.every(tickMs, () => {
      this.now = clock.monotonic();
      // from the end, where others take the places of those that leave: none is passed over
      for (let place = this.#entries.size - 1; place >= 0; place -= 1) {
        if (place >= this.#entries.size) continue;
        const entry = this.#entries.at(place);
        const { member } = entry;
        if (member.expiresAt > this.now) continue;
        try {
          member.expired();
        } catch (error) {
          // It is not asked again: it would throw at each tick.
          entry.cancel();
          endUnit("timer", member, error);
        }
      }
    });
  }

  /** Watches it until that is cancelled. */
  add(timed: Timed): Timer {
    return new Entry(this.#entries, timed);
  }

  /** Calls `run` once, for what seldom comes to that: a timer of the clock's costs several times this. */
  after(delayMs: number, run: () => void): Timer {
    const once = new Once(this.now + delayMs, run);
    return (once.entry = this.add(once));
  }

  stop(): void {
    this.#timer.cancel();
    for (const entry of this.#entries.members()) entry.cancel();
  }
}

class Entry extends Seat<Timed> implements Timer {
  readonly #all: Roster<Entry>;

  constructor(all: Roster<Entry>, timed: Timed) {
    super(timed);
    this.#all = all;
    all.add(this);
  }

  cancel(): void {
    this.#all.delete(this);
  }
}

class Once implements Timed {
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
