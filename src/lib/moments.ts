import type { Clock } from "./clock.ts";

/** When something happened, by both clocks, see `Clock`. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Milliseconds from an arbitrary start. */
  readonly monotonic: number;
}

/**
 * The clock, read once in a turn of the event loop, for what happens many times in each: all of it happened when the
 * first of it asked. What must not miss the time that the turn itself takes reads the clock.
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

  /** The same object for the whole of a turn. */
  get present(): Moment {
    return this.#present ?? this.#read();
  }

  #read(): Moment {
    setImmediate(this.#turnOver);
    this.#present = { now: this.#clock.now(), monotonic: this.#clock.monotonic() };
    return this.#present;
  }
}
