/** Timestamps and durations as text, within the ranges of CEL's specification. */
import { CelFailure } from "./cel-failure.ts";
import { Duration, isInt, Timestamp } from "./cel-values.ts";

const nsPerSecond = 1_000_000_000n;
/** 0001-01-01T00:00:00Z and the last nanosecond of 9999. */
const firstNs = -62_135_596_800n * nsPerSecond;
const lastNs = 253_402_300_800n * nsPerSecond - 1n;

export function makeTimestamp(ns: bigint): Timestamp | CelFailure {
  if (ns < firstNs || ns > lastNs) return new CelFailure("a timestamp must be in the years 1 to 9999");
  return new Timestamp(ns);
}

/** Nanoseconds in 64 bits: about 292 years. */
export function makeDuration(ns: bigint): Duration | CelFailure {
  return isInt(ns) ? new Duration(ns) : new CelFailure("a duration must be shorter than 292 years");
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** RFC 3339. */
export function parseTimestamp(text: string): Timestamp | CelFailure {
  const found = text.length > 64 ? null : rfc3339.exec(text);
  if (!found) return new CelFailure("a timestamp is written as in '2026-01-02T03:04:05Z'");
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHours, offsetMinutes] = found;
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // For example 30 February, which `Date.parse` reads as 2 March.
  if (Number.isNaN(ms) || new Date(ms).getUTCDate() !== Number(day))
    return new CelFailure("the date or time does not exist");
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60 * (sign === "-" ? -1 : 1);
  const seconds = BigInt(ms / 1000 - offset);
  return makeTimestamp(seconds * nsPerSecond + BigInt((fraction ?? "").padEnd(9, "0")));
}

export function timestampText({ ns }: Timestamp): string {
  const fraction = ((ns % nsPerSecond) + nsPerSecond) % nsPerSecond;
  const ms = Number((ns - fraction) / 1_000_000n);
  return `${new Date(ms).toISOString().slice(0, 19)}${fractionText(fraction)}Z`;
}

const unitNs: Readonly<Record<string, bigint>> = {
  h: 3600n * nsPerSecond,
  m: 60n * nsPerSecond,
  s: nsPerSecond,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};

const durationPart = /(\d{1,20})?(?:\.(\d{1,20}))?(h|ms|m|s|us|µs|ns)/y;

/** As in `90s`, `1h30m`, `-1.5s`. */
export function parseDuration(text: string): Duration | CelFailure {
  const wrong = new CelFailure("a duration is written as in '90s', '1h30m' or '1.5ms'");
  if (text.length > 64) return wrong;
  const start = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
  if (text.slice(start) === "0") return new Duration(0n);
  let ns = 0n;
  durationPart.lastIndex = start;
  do {
    const found = durationPart.exec(text);
    const [, whole, fraction, unit] = found ?? [];
    if (unit === undefined || (whole === undefined && fraction === undefined)) return wrong;
    const length = unitNs[unit] as bigint;
    ns += BigInt(whole ?? "0") * length;
    if (fraction !== undefined) ns += (BigInt(fraction) * length) / 10n ** BigInt(fraction.length);
  } while (durationPart.lastIndex < text.length);
  return makeDuration(text.startsWith("-") ? -ns : ns);
}

/** Seconds, as in `90s` or `1.5s`. */
export function durationText({ ns }: Duration): string {
  const size = ns < 0n ? -ns : ns;
  return `${ns < 0n ? "-" : ""}${size / nsPerSecond}${fractionText(size % nsPerSecond)}s`;
}

function fractionText(ns: bigint): string {
  return ns === 0n ? "" : `.${String(ns).padStart(9, "0").replace(/0+$/, "")}`;
}
