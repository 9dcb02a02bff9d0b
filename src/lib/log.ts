import { makeRate } from "./rate.ts";
import type { Rate } from "./rate.ts";
import { phase, putOff } from "./turn.ts";
import type { TurnTask } from "./turn.ts";

/**
 * Structured log lines: readable on a terminal, one JSON object per line otherwise. Never given a secret. Lines are made
 * and written at the end of the turn, behind what somebody waits for.
 */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with `fields` on every line. */
  with(fields: LogFields): Log;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = "debug" | "info" | "warn" | "error";
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A line that is still to be made. */
interface Line {
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
  /** Takes whole lines; must not block the caller. */
  readonly write: (lines: string) => void;
}

/**
 * Lines of one event: so many at once, then so many a second. Whoever makes something go wrong again and again must
 * not fill a disk with it (D10); the next line says how many were left out.
 */
const eventRate = { perSecond: 100, burst: 1000 };
/** Lines kept while `write` has not been called yet in this turn; beyond it they are dropped and counted. */
const maxPendingLines = 10_000;

export function makeLog(options: LogOptions): Log {
  const least = logLevels.indexOf(options.level);
  const render = options.format === "json" ? jsonLine : textLine;
  let pending: Line[] = [];
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
    pending.push({ now: options.now(), level, event, fields: unlogged > 0 ? { ...fields, unlogged } : fields });
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

/** A line in any case: it is made where nobody could be told that it cannot be. */
function lineOf(render: typeof jsonLine, { now, level, event, fields }: Line): string {
  try {
    return render(now, level, event, fields);
  } catch (error) {
    return render(now, "error", "log line not made", { of: event, error });
  }
}

function jsonLine(now: number, level: LogLevel, event: string, fields: LogFields): string {
  return `${JSON.stringify({ time: new Date(now).toISOString(), level, event, ...plain(fields) })}\n`;
}

function textLine(now: number, level: LogLevel, event: string, fields: LogFields): string {
  const rest = Object.entries(plain(fields)).map(
    ([name, value]) =>
      ` ${name}=${typeof value === "string" && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return `${new Date(now).toISOString().slice(11, 19)} ${level.padEnd(5)} ${event}${rest.join("")}\n`;
}

/** Errors become their message with the causes behind it. */
function plain(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? causes(value) : value]),
  );
}

function causes(error: Error): string {
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error && parts.length < 8; at = at.cause) parts.push(at.message);
  return parts.join(": ");
}
