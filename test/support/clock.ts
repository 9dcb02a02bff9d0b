import type { Clock, Timer } from "../../src/lib/clock.ts";

export interface ManualClock extends Clock {
  /** Lets this much time pass, running what falls due on the way, in order. */
  pass(milliseconds: number): void;
  /** Sets the wall clock on, or back: no time passes by it. */
  step(milliseconds: number): void;
  /** Timers that are set now. */
  readonly pending: number;
}

/** A clock that stands still until told. */
export function makeManualClock(startMs = Date.now()): ManualClock {
  let elapsed = 0;
  let stepped = 0;
  const due = new Set<{ at: number; readonly period: number | undefined; readonly run: () => void }>();
  const add = (delayMs: number, period: number | undefined, run: () => void): Timer => {
    const entry = { at: elapsed + delayMs, period, run };
    due.add(entry);
    return { cancel: () => due.delete(entry) };
  };
  return {
    now: () => startMs + stepped + elapsed,
    monotonic: () => elapsed,
    after: (delayMs, run) => add(delayMs, undefined, run),
    every: (periodMs, run) => add(periodMs, periodMs, run),
    get pending() {
      return due.size;
    },
    step: (milliseconds) => void (stepped += milliseconds),
    pass(milliseconds) {
      const until = elapsed + milliseconds;
      for (;;) {
        const [next] = [...due].filter((entry) => entry.at <= until).sort((one, other) => one.at - other.at);
        if (!next) break;
        elapsed = Math.max(elapsed, next.at);
        if (next.period === undefined) due.delete(next);
        else next.at += next.period;
        next.run();
      }
      elapsed = until;
    },
  };
}
