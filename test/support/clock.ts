import { systemClock } from "../../src/lib/clock.ts";
import type { Clock, Timer } from "../../src/lib/clock.ts";

export interface ManualClock extends Clock {
  /** Advances the time and runs the timers that become due, in order. */
  pass(milliseconds: number): void;
  /** Sets the wall clock forward or back. No time passes. */
  step(milliseconds: number): void;
  /** Number of active timers. */
  readonly pending: number;
}

/** Creates a clock that stands still until the test advances it. */
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

/** The system's clock, which the test can advance and stop. */
export interface MovableClock extends Clock {
  move(milliseconds: number): void;
  /** Runs `run` at one moment. The time continues when `run` has ended. */
  hold<Result>(run: () => Promise<Result>): Promise<Result>;
}

export function movableClock(): MovableClock {
  let ahead = 0;
  let heldAt: number | undefined;
  const elapsed = (): number => heldAt ?? systemClock.monotonic();
  const wallOffset = systemClock.now() - systemClock.monotonic();
  const periodic = new Set<() => void>();
  return {
    ...systemClock,
    now: () => Math.floor(wallOffset + elapsed() + ahead),
    monotonic: () => elapsed() + ahead,
    async hold(run) {
      const from = systemClock.monotonic();
      heldAt = from;
      try {
        return await run();
      } finally {
        heldAt = undefined;
        ahead -= systemClock.monotonic() - from;
      }
    },
    every(periodMs, run) {
      periodic.add(run);
      const timer = systemClock.every(periodMs, run);
      return {
        cancel() {
          periodic.delete(run);
          timer.cancel();
        },
      };
    },
    move(milliseconds) {
      ahead += milliseconds;
      // Code that checks the time periodically must see the change before any test relies on it.
      for (const run of periodic) run();
    },
  };
}
