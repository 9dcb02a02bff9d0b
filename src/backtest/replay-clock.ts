import { Moments } from "../lib/moments.ts";
import type { Moment } from "../lib/moments.ts";
import type { Clock } from "../lib/clock.ts";

/** Never fires: nothing runs between two recorded events. */
const timer = { cancel(): void {} };

/** The time of the recorded events. It never goes back. */
export class ReplayClock implements Clock {
  #nowMs = 0;

  /** Moves to the time of an event, milliseconds since 1970. */
  reach(ms: number): void {
    if (ms > this.#nowMs) this.#nowMs = ms;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(): typeof timer {
    return timer;
  }

  every(): typeof timer {
    return timer;
  }
}

/** Moments of recorded events, which are not tied to turns of the event loop. */
export class ReplayMoments extends Moments {
  readonly #clock: ReplayClock;

  constructor(clock: ReplayClock) {
    super(clock);
    this.#clock = clock;
  }

  override get present(): Moment {
    const ms = this.#clock.now();
    return { now: ms, monotonic: ms };
  }
}
