import type { Metrics } from "../../lib/metrics.ts";

export interface EventCounters {
  delivered: number;
  dropped: number;
  failures: number;
}

/** Returns the metrics of all deliveries together. */
export function makeEventCounters(metrics: Metrics): EventCounters {
  const counters: EventCounters = { delivered: 0, dropped: 0, failures: 0 };
  metrics.counterOf("postern_events_delivered_total", "Events delivered.", () => counters.delivered);
  metrics.counterOf(
    "postern_events_dropped_total",
    "Discarded events: after a day, or because too many were waiting; includes events that an edge dropped.",
    () => counters.dropped,
  );
  metrics.counterOf("postern_event_failures_total", "Failed attempts to deliver events.", () => counters.failures);
  return counters;
}
