/** `getHours()` and other accessors of timestamps, in UTC or a time zone, and of durations. */
import { defineFunction, defineMember } from "../checking/function-declarations.ts";
import type { FunctionDeclaration, Overload } from "../checking/function-declarations.ts";
import { CelFailure } from "../values/cel-failure.ts";
import type { Result, Run } from "../values/budget.ts";
import { types } from "../checking/cel-types.ts";
import { toInt as intOf } from "../values/cel-values.ts";
import type { Duration, Timestamp } from "../values/cel-values.ts";

const { int, string, timestamp, duration } = types;

const msPerDay = 86_400_000;
/** Steps for resolving a time zone, and for creating its formatter if it is not cached. */
const zoneSteps = 50;
const formatSteps = 200;

function msOf({ ns }: Timestamp): number {
  const million = 1_000_000n;
  return Number((ns - (((ns % million) + million) % million)) / million);
}

const zones = new Map<string, Intl.DateTimeFormat>();
const maxZones = 100;
/** Maximum length of a zone's name, UTF-16 code units. */
const maxZone = 64;

/**
 * Parses `+02:00`, `02:00` or `Europe/Berlin`. Returns the moment shifted so that its UTC fields are those of the zone.
 */
function shiftToZone(ms: number, zone: string, run: Run): Date | CelFailure {
  if (zone.length > maxZone) return new CelFailure("the time zone does not exist");
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(ms + minutes * 60_000 * (offset[1] === "-" ? -1 : 1));
  }
  const spent = zones.has(zone) ? undefined : run.spend(formatSteps);
  if (spent) return spent;
  const format = zoneFormat(zone);
  if (format === undefined) return new CelFailure("the time zone does not exist");
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  const local = new Date(0);
  local.setUTCFullYear(year as number, (month as number) - 1, day);
  local.setUTCHours(hour as number, minute, second, ((ms % 1000) + 1000) % 1000);
  return local;
}

function zoneFormat(zone: string): Intl.DateTimeFormat | undefined {
  const known = zones.get(zone);
  if (known) return known;
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(zone)) return undefined;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      timeZone: zone,
      calendar: "iso8601",
      hourCycle: "h23",
    });
    if (zones.size >= maxZones) zones.clear();
    zones.set(zone, format);
    return format;
  } catch {
    return undefined;
  }
}

type ReadTime = (date: Date) => number;

function ofTimestamp(
  name: string,
  id: string,
  read: ReadTime,
): FunctionDeclaration & { readonly overloads: Overload[] } {
  const overloads = [
    defineMember(id, [timestamp], int, (at: Timestamp) => intOf(read(new Date(msOf(at))))),
    defineMember(
      id === "timestamp_to_seconds" ? `${id}_tz` : `${id}_with_tz`,
      [timestamp, string],
      int,
      (at: Timestamp, zone: string, run: Run): Result => {
        const local = run.spend(zoneSteps) ?? shiftToZone(msOf(at), zone, run);
        return local instanceof CelFailure ? local : intOf(read(local));
      },
    ),
  ];
  return { name, overloads };
}

function declareAlias(of: FunctionDeclaration, id: string, unitNs: bigint): FunctionDeclaration {
  return defineFunction(
    of.name,
    ...of.overloads,
    defineMember(id, [duration], int, ({ ns }: Duration) => ns / unitNs),
  );
}

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / msPerDay);
}

export const times: readonly FunctionDeclaration[] = [
  ofTimestamp("getFullYear", "timestamp_to_year", (date) => date.getUTCFullYear()),
  ofTimestamp("getMonth", "timestamp_to_month", (date) => date.getUTCMonth()),
  ofTimestamp("getDayOfYear", "timestamp_to_day_of_year", dayOfYear),
  ofTimestamp("getDayOfMonth", "timestamp_to_day_of_month", (date) => date.getUTCDate() - 1),
  ofTimestamp("getDate", "timestamp_to_day_of_month_1_based", (date) => date.getUTCDate()),
  ofTimestamp("getDayOfWeek", "timestamp_to_day_of_week", (date) => date.getUTCDay()),
  declareAlias(
    ofTimestamp("getHours", "timestamp_to_hours", (date) => date.getUTCHours()),
    "duration_to_hours",
    3_600_000_000_000n,
  ),
  declareAlias(
    ofTimestamp("getMinutes", "timestamp_to_minutes", (date) => date.getUTCMinutes()),
    "duration_to_minutes",
    60_000_000_000n,
  ),
  declareAlias(
    ofTimestamp("getSeconds", "timestamp_to_seconds", (date) => date.getUTCSeconds()),
    "duration_to_seconds",
    1_000_000_000n,
  ),
  declareAlias(
    ofTimestamp("getMilliseconds", "timestamp_to_milliseconds", (date) => date.getUTCMilliseconds()),
    "duration_to_milliseconds",
    1_000_000n,
  ),
];
