import { reportFailure } from "./boundary.ts";

/** Time as the rest of the program sees it; tests drive it by hand instead of sleeping. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May step; only for what is shown or stored. */
  now(): number;
  /** Milliseconds from an arbitrary start, never going back; for time-outs and windows. */
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
    const timer = setTimeout(tick, delayMs, run).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(periodMs, run) {
    const timer = setInterval(tick, periodMs, run).unref();
    return { cancel: () => clearInterval(timer) };
  },
};

/** What a timer throws ends nothing but this tick. */
function tick(run: () => void): void {
  try {
    run();
  } catch (error) {
    reportFailure("timer", error);
  }
}

/** RFC 3339, UTC, whole seconds: the form of every timestamp in the API. */
export function timestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
