import { reportFailure } from "./boundary.ts";

/** Time for the rest of the program. Tests advance it by hand instead of sleeping. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. It may jump, so use it only for displayed or stored times. */
  now(): number;
  /** Milliseconds from an arbitrary start, monotonic; for time-outs and windows. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`; the timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
  /** Calls `run` every `periodMs` until cancelled. */
  every(periodMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(runTick, delayMs, run).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(periodMs, run) {
    const timer = setInterval(runTick, periodMs, run).unref();
    return { cancel: () => clearInterval(timer) };
  },
};

/** An error in a timer ends only this tick. */
function runTick(run: () => void): void {
  try {
    run();
  } catch (error) {
    reportFailure("timer", error);
  }
}

/** RFC 3339, UTC, whole seconds: the form of every timestamp in the API. */
export function formatTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
