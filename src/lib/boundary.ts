/**
 * Boundaries around units of work. A unit is an exchange, a stream, a connection, a session, a message or a timer. When
 * its code throws or its promise rejects, the source of the event ends that unit and nothing else.
 */
import type { Metrics } from "./metrics.ts";

/** Units that fail alone; the label of the metric. */
export const units = ["exchange", "stream", "connection", "session", "message", "timer", "task"] as const;
export type UnitName = (typeof units)[number];

/** A unit that can end itself after its code has thrown. */
export interface Unit {
  /** Reports the error and ends the unit. May throw: the caller then reports that error, too. */
  broke?(error: unknown): void;
}

/** The part of a log that failures need. */
export interface FailureLog {
  error(event: string, fields: Readonly<Record<string, unknown>>): void;
}

const counts: Record<UnitName, number> = {
  exchange: 0,
  stream: 0,
  connection: 0,
  session: 0,
  message: 0,
  timer: 0,
  task: 0,
};
/** Each thread runs one plane, with one log. */
let log: FailureLog | undefined;

/** Sets the log for failures of this thread. */
export function logFailuresTo(to: FailureLog): void {
  log = to;
}

export function exportFailures(metrics: Metrics): void {
  for (const unit of units) {
    metrics.counterOf(
      "postern_failed_units_total",
      "Units of work that ended because their own code failed. Each is a defect: the log has its stack.",
      () => counts[unit],
      { unit },
    );
  }
}

/**
 * Counts a failure and logs it with its stack. The caller ends the unit. Without a log, the error is thrown in a
 * microtask, so that a program without a plane never hides it.
 */
export function reportFailure(unit: UnitName, error: unknown, fields?: Readonly<Record<string, unknown>>): void {
  counts[unit] += 1;
  if (log === undefined) {
    queueMicrotask(() => {
      throw error;
    });
    return;
  }
  log.error(`${unit} failed`, { ...fields, error, stack: stackOf(error) });
}

/** Ends a unit whose code has thrown. Never throws. */
export function endUnit(name: UnitName, unit: Unit, error: unknown): void {
  try {
    if (unit.broke === undefined) reportFailure(name, error);
    else unit.broke(error);
  } catch (another) {
    reportFailure(name, another);
  }
}

/** Runs one event of a unit, and reports what it throws. For rare events, because it needs a closure. */
export function runContained(name: UnitName, run: () => void, fields?: Readonly<Record<string, unknown>>): boolean {
  try {
    run();
    return true;
  } catch (error) {
    reportFailure(name, error, fields);
    return false;
  }
}

/** Returns a callback that runs `run`. What `run` throws is reported, and then `ended` ends the unit. */
export function makeContained<Given extends readonly unknown[]>(
  name: UnitName,
  run: (...given: Given) => void,
  ended: (error: unknown) => void,
): (...given: Given) => void {
  return (...given) => {
    try {
      run(...given);
    } catch (error) {
      reportFailure(name, error);
      runContained(name, () => ended(error));
    }
  };
}

/** A socket or another stream. */
export interface Destroyable {
  destroy(): unknown;
}

/** Returns a listener of a socket's events that destroys the socket when `run` throws. */
export function guardListener<Given extends readonly unknown[]>(
  socket: Destroyable,
  run: (...given: Given) => void,
): (...given: Given) => void {
  return makeContained("connection", run, () => void socket.destroy());
}

/** Returns a listener that receives sockets, and destroys a socket if `run` throws for it. */
export function socketListener<Given extends Destroyable>(run: (socket: Given) => void): (socket: Given) => void {
  return (socket) => {
    if (!runContained("connection", () => run(socket))) socket.destroy();
  };
}

/** Lets a promise run unattended. Reports its rejection and then calls `ended`. */
export function runUnattended(name: UnitName, promise: Promise<unknown>, ended?: (error: unknown) => void): void {
  promise.catch((error: unknown) => {
    reportFailure(name, error);
    if (ended) runContained(name, () => ended(error));
  });
}

/** Maximum logged length of a stack, characters. */
const maxStack = 4096;

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack?.slice(0, maxStack) : undefined;
}
