/** Reads the query of a request for the history of traffic. */
import { Refusal } from "../../lib/errors.ts";
import { parseTime } from "../../lib/rfc3339.ts";
import { readOnce } from "../objects/page-query.ts";
import type { Call } from "../operation/call.ts";
import { floorTo, levelOf } from "./levels.ts";
import type { MetricName } from "./metric-names.ts";
import { isMetric, metricNames } from "./metric-names.ts";
import { minuteMs } from "../../lib/durations.ts";

export type Grouping = "none" | "service" | "reason";
export const groupings: readonly Grouping[] = ["none", "service", "reason"];

export interface SeriesQuery {
  readonly metrics: readonly MetricName[];
  /** Multiples of the step, milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
  readonly groupBy: Grouping;
  readonly serviceId: string | undefined;
  /** Maximum number of groups, besides the sum of the others. */
  readonly limit: number;
}

/** Steps by their names, which are how the query gives them. */
export const steps: Readonly<Record<string, number>> = {
  "1m": minuteMs,
  "5m": 5 * minuteMs,
  "10m": 10 * minuteMs,
  "15m": 15 * minuteMs,
  "30m": 30 * minuteMs,
  "1h": 60 * minuteMs,
  "2h": 120 * minuteMs,
  "3h": 180 * minuteMs,
  "6h": 360 * minuteMs,
  "12h": 720 * minuteMs,
  "1d": 1440 * minuteMs,
};
/** Maximum number of steps: of one group, and of each of several. */
export const maxSteps = { none: 1_500, service: 200, reason: 200 } as const;
/** The default step leads to at most this number of steps. */
const usualSteps = 170;
const defaultPeriodMs = 60 * minuteMs;
export const maxGroups = 50;
export const defaultGroups = 10;
const maxMetrics = 10;

export function readSeriesQuery(call: Call, now: number): SeriesQuery {
  const refuse = (message: string): Refusal => new Refusal("query_invalid", `${call.operation.id}: ${message}`);
  const oneOf = <Name extends string>(key: string, names: readonly Name[]): Name | undefined => {
    const text = readOnce(call, key);
    if (text === undefined) return undefined;
    const found = names.find((name) => name === text);
    if (found === undefined) throw refuse(`"${key}" must be one of ${names.join(", ")}`);
    return found;
  };
  const timeOf = (key: string): number | undefined => {
    const text = readOnce(call, key);
    const at = text === undefined ? undefined : parseTime(text);
    if (text !== undefined && (at === undefined || at < 0)) {
      throw refuse(`"${key}" must be a time such as 2026-01-31T12:00:00Z`);
    }
    return at;
  };
  const groupBy = oneOf("group_by", groupings) ?? "none";
  const metrics = (readOnce(call, "metric") ?? (groupBy === "reason" ? "refused" : "requests,errors")).split(",");
  const unknown = metrics.find((name) => !isMetric(name));
  if (unknown !== undefined) throw refuse(`"metric" must be a list of ${metricNames.join(", ")}`);
  if (metrics.length > maxMetrics) throw refuse(`"metric" must have at most ${maxMetrics} names`);
  if (groupBy === "reason" && metrics.some((name) => name !== "refused")) {
    throw refuse('"metric" must be refused with "group_by=reason"');
  }
  const until = timeOf("until") ?? now;
  const since = timeOf("since") ?? until - defaultPeriodMs;
  if (since >= until) throw refuse('"since" must be before "until"');
  const given = oneOf("step", Object.keys(steps));
  const stepMs = given === undefined ? defaultStep(since, until, now) : (steps[given] as number);
  const serviceId = readOnce(call, "service_id");
  if (serviceId !== undefined && !/^[\w-]{1,100}$/.test(serviceId)) throw refuse('"service_id" must be an id');
  const query = { since: floorTo(since, stepMs), until: floorTo(until + stepMs - 1, stepMs), stepMs };
  const count = (query.until - query.since) / stepMs;
  if (count > maxSteps[groupBy]) {
    throw refuse(`the period has ${count} steps, and at most ${maxSteps[groupBy]} are allowed: set a longer "step"`);
  }
  if (!isKept(since, stepMs, now)) {
    const kept = Math.round(levelOf(stepMs).keptMs / 3_600_000);
    throw refuse(`"since" must be at most ${kept} hours ago with this "step": set a longer "step" or a later "since"`);
  }
  return { ...query, metrics: [...new Set(metrics)] as MetricName[], groupBy, serviceId, limit: limitIn(call) };
}

function limitIn(call: Call): number {
  const text = readOnce(call, "groups");
  const limit = text === undefined ? defaultGroups : /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= maxGroups) return limit;
  throw new Refusal("query_invalid", `${call.operation.id}: "groups" must be a whole number from 1 to ${maxGroups}`);
}

function defaultStep(since: number, until: number, now: number): number {
  const all = Object.values(steps);
  return all.find((ms) => (until - since) / ms <= usualSteps && isKept(since, ms, now)) ?? (all.at(-1) as number);
}

function isKept(since: number, stepMs: number, now: number): boolean {
  return now - since <= levelOf(stepMs).keptMs + stepMs;
}
