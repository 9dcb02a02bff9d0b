import { makeRate } from "./rate.ts";
import type { Rate } from "./rate.ts";
import { phase, putOff } from "./turn.ts";
import type { TurnTask } from "./turn.ts";

/**
 * Structured log lines: readable on a terminal, otherwise one JSON object per line. Callers must never pass a secret.
 * Lines are rendered and written at the end of the turn, after work that clients are waiting for.
 */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Returns the same log with `fields` on every line. */
  with(fields: LogFields): Log;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = "debug" | "info" | "warn" | "error";
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A line that is not rendered yet. */
export interface LogLine {
  readonly now: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly now: () => number;
  /** Milliseconds, see `Clock`. */
  readonly monotonic: () => number;
  /** Receives whole lines. Must not block the caller. */
  readonly write: (lines: string) => void;
  /** Receives each written line, too. */
  readonly also?: ((line: LogLine) => void) | undefined;
}

/**
 * Rate limit for lines of one event: first a burst, then a number per second. A client that causes the same failure
 * again and again must not fill a disk (D10). The next line contains the number of dropped lines.
 */
const eventRate = { perSecond: 100, burst: 1000 };
/** Maximum pending lines before `write` is called in this turn. More are dropped and counted. */
const maxPendingLines = 10_000;

export function makeLog(options: LogOptions): Log {
  const least = logLevels.indexOf(options.level);
  const render = options.format === "json" ? jsonLine : textLine;
  let pending: LogLine[] = [];
  let dropped = 0;
  const events = new Map<string, { readonly rate: Rate; unlogged: number }>();
  const allowanceOf = (event: string): { readonly rate: Rate; unlogged: number } => {
    let allowance = events.get(event);
    if (!allowance) {
      const { perSecond, burst } = eventRate;
      events.set(event, (allowance = { rate: makeRate(perSecond, burst, options.monotonic), unlogged: 0 }));
    }
    return allowance;
  };
  const flush = (): void => {
    const lines = pending;
    pending = [];
    const text = lines.map((line) => lineOf(render, line)).join("");
    const end = dropped > 0 ? render(options.now(), "warn", "log lines dropped", { dropped }) : "";
    dropped = 0;
    options.write(text + end);
  };
  const writing: TurnTask = { turn: flush };
  const emit = (level: LogLevel, event: string, fields: LogFields): void => {
    if (logLevels.indexOf(level) < least) return;
    if (pending.length >= maxPendingLines) {
      dropped += 1;
      return;
    }
    const allowance = allowanceOf(event);
    if (!allowance.rate.take()) {
      allowance.unlogged += 1;
      return;
    }
    const { unlogged } = allowance;
    allowance.unlogged = 0;
    if (pending.length === 0) putOff(writing, phase.sockets);
    const line = { now: options.now(), level, event, fields: unlogged > 0 ? { ...fields, unlogged } : fields };
    pending.push(line);
    options.also?.(line);
  };
  const bound = (base: LogFields): Log => ({
    debug: (event, fields) => emit("debug", event, { ...base, ...fields }),
    info: (event, fields) => emit("info", event, { ...base, ...fields }),
    warn: (event, fields) => emit("warn", event, { ...base, ...fields }),
    error: (event, fields) => emit("error", event, { ...base, ...fields }),
    with: (fields) => bound({ ...base, ...fields }),
  });
  return bound({});
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };

/** Always returns a line, because no caller is left to receive an error. */
function lineOf(render: typeof jsonLine, { now, level, event, fields }: LogLine): string {
  try {
    return render(now, level, event, fields);
  } catch (error) {
    return render(now, "error", "log line not made", { of: event, error });
  }
}

function jsonLine(now: number, level: LogLevel, event: string, fields: LogFields): string {
  return `${JSON.stringify({ time: new Date(now).toISOString(), level, event, ...renderErrors(fields) })}\n`;
}

function textLine(now: number, level: LogLevel, event: string, fields: LogFields): string {
  const rest = Object.entries(renderErrors(fields)).map(
    ([name, value]) =>
      ` ${name}=${typeof value === "string" && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return `${new Date(now).toISOString().slice(11, 19)} ${level.padEnd(5)} ${event}${rest.join("")}\n`;
}

/** Errors become their message with their causes. */
function renderErrors(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? renderCauses(value) : value]),
  );
}

function renderCauses(error: Error): string {
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error && parts.length < 8; at = at.cause) parts.push(at.message);
  return parts.join(": ");
}
