import { makeRate } from "./rate.ts";
import type { Rate } from "./rate.ts";

/** Structured log lines: readable on a terminal, one JSON object per line otherwise. Never given a secret. */
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
  let pending: string[] = [];
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
    if (dropped > 0) lines.push(render(options.now(), "warn", "log lines dropped", { dropped }));
    dropped = 0;
    options.write(lines.join(""));
  };
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
    if (pending.length === 0) setImmediate(flush);
    pending.push(render(options.now(), level, event, unlogged > 0 ? { ...fields, unlogged } : fields));
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
