import type { Clock, Timer } from "../lib/clock.ts";

/**
 * Timers of thousands of sessions, each of which may be late by up to a step. Timers that are due in the same step run
 * in one turn, so that an idle process wakes up once for all of them.
 */
export class SharedTimers {
  readonly stepMs: number;
  readonly #clock: Clock;
  readonly #steps = new Map<number, TimerStep>();

  constructor(clock: Clock, stepMs: number) {
    this.#clock = clock;
    this.stepMs = stepMs;
  }

  /** Calls `run` once after `delayMs`, at most one step and 2 ms late. */
  after(delayMs: number, run: () => void): Timer {
    const now = this.#clock.monotonic();
    const number = Math.ceil((now + delayMs) / this.stepMs);
    let step = this.#steps.get(number);
    if (!step) {
      // Node rounds down by up to a millisecond.
      const timer = this.#clock.after(Math.ceil(number * this.stepMs - now) + 1, () => step?.end(true));
      this.#steps.set(number, (step = new TimerStep(timer, () => this.#steps.delete(number))));
    }
    return step.add(run);
  }
}

class TimerStep {
  readonly #timer: Timer;
  readonly #over: () => void;
  readonly #due = new Set<SharedTimer>();
  #isOver = false;

  constructor(timer: Timer, over: () => void) {
    this.#timer = timer;
    this.#over = over;
  }

  add(run: () => void): Timer {
    const timer = new SharedTimer(this, run);
    this.#due.add(timer);
    return timer;
  }

  cancel(timer: SharedTimer): void {
    if (this.#due.delete(timer) && this.#due.size === 0) this.end(false);
  }

  end(isDue: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#over();
    this.#timer.cancel();
    if (isDue) for (const { run } of this.#due) run();
  }
}

class SharedTimer implements Timer {
  readonly run: () => void;
  readonly #step: TimerStep;

  constructor(step: TimerStep, run: () => void) {
    this.#step = step;
    this.run = run;
  }

  cancel(): void {
    this.#step.cancel(this);
  }
}
