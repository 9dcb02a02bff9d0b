/** Metrics of the history of traffic: counts, and percentiles of the latency. */
import { countNames, percentileOf } from "../../lib/tally.ts";
import type { CountName, DurationTally } from "../../lib/tally.ts";

const shares = { latency_p50: 0.5, latency_p90: 0.9, latency_p95: 0.95, latency_p99: 0.99 } as const;
type Percentile = keyof typeof shares;

export type MetricName = CountName | Percentile | "refused";

export const metricNames: readonly MetricName[] = [...countNames, "refused", ...(Object.keys(shares) as Percentile[])];

export function isMetric(name: string): name is MetricName {
  return metricNames.some((one) => one === name);
}

/** Returns the value of a metric; null for a percentile without requests. @param tally undefined without traffic */
export function valueOf(name: MetricName, tally: DurationTally | undefined): number | null {
  if (isPercentile(name)) {
    const ms = tally && percentileOf(tally.latency, shares[name]);
    return ms === undefined ? null : Number(ms.toPrecision(3));
  }
  if (!tally) return 0;
  return name === "refused" ? tally.reasons.values().reduce((sum, count) => sum + count, 0) : tally.read(name);
}

function isPercentile(name: MetricName): name is Percentile {
  return name in shares;
}
