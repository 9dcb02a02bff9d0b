import type { Clock } from "./clock.ts";

/** Time of an event by both clocks, see `Clock`. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Milliseconds from an arbitrary start. */
  readonly monotonic: number;
}

/**
 * Reads the clock once per turn of the event loop, for frequent events: all events of a turn have the time of the first
 * one. If the duration of the turn matters, read the clock directly.
 */
export class Moments {
  readonly #clock: Clock;
  #present: Moment | undefined;
  readonly #turnOver = (): void => {
    this.#present = undefined;
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the same object for the whole turn. */
  get present(): Moment {
    return this.#present ?? this.#read();
  }

  #read(): Moment {
    setImmediate(this.#turnOver);
    this.#present = { now: this.#clock.now(), monotonic: this.#clock.monotonic() };
    return this.#present;
  }
}
