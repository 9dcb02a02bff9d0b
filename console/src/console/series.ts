/** Loads the history of traffic. */
import type { MetricsSeries } from "../../../sdk/src/index.ts";
import type { Times } from "../charts/scale.ts";
import { postern } from "./api.ts";

export type Period = "hour" | "day" | "week";

/** Length, length of a step, and how often the page loads it again. */
export const periods = {
  hour: { ms: 3_600_000, step: "1m", everyMs: 5_000 },
  day: { ms: 86_400_000, step: "10m", everyMs: 30_000 },
  week: { ms: 604_800_000, step: "1h", everyMs: 60_000 },
} as const satisfies Readonly<Record<Period, object>>;

type Group = MetricsSeries["groups"][number];
export type Metric = Group["series"][number]["metric"];

export interface Series {
  readonly name: string;
  readonly serviceId: string | undefined;
  readonly reason: string | undefined;
  readonly reasonText: string;
  values(metric: Metric): readonly (number | null)[];
  /** 0 without a value. */
  total(metric: Metric): number;
}

export interface Loaded {
  readonly times: Times;
  readonly groups: readonly Series[];
  readonly isComplete: boolean;
}

export async function loadSeries(
  period: Period,
  metrics: readonly Metric[],
  groupBy: "none" | "service" | "reason" = "none",
  serviceId?: string,
): Promise<Loaded> {
  const { ms, step } = periods[period];
  const since = new Date(Date.now() - ms).toISOString();
  const found = await postern.metricsSeries({
    metric: metrics.join(","),
    since,
    step,
    group_by: groupBy,
    ...(serviceId !== undefined && { service_id: serviceId }),
  });
  const stepMs = found.step_seconds * 1_000;
  const from = Date.parse(found.since);
  return {
    times: { since: from, stepMs, count: Math.round((Date.parse(found.until) - from) / stepMs) },
    groups: found.groups.map(seriesOf),
    isComplete: found.complete,
  };
}

function seriesOf({ service_id: id, name, reason, reason_text: text, series }: Group): Series {
  const one = (metric: Metric) => series.find((found) => found.metric === metric);
  return {
    name: name ?? "",
    serviceId: id ?? undefined,
    reason: reason ?? undefined,
    reasonText: text ?? "",
    values: (metric) => one(metric)?.values ?? [],
    total: (metric) => one(metric)?.total ?? 0,
  };
}

/** Returns one value less another, step by step, at least 0. */
export function subtractSeries(
  values: readonly (number | null)[],
  ...subtracted: readonly (readonly (number | null)[])[]
): readonly number[] {
  return values.map((value, at) =>
    Math.max(
      0,
      subtracted.reduce((rest, one) => rest - (one[at] ?? 0), value ?? 0),
    ),
  );
}
