import type { Metrics } from "../../lib/metrics.ts";
import type { ConnectionOutcome } from "../../routing/planes/edge-questions.ts";

/** Counters that spliced connections increment. A scrape reads them. */
export interface SpliceCounters {
  readonly ended: Record<ConnectionOutcome, number>;
  /** Number of bytes from and to clients. */
  bytesIn: number;
  bytesOut: number;
}

const results = ["served", "denied", "broken", "account_limit", "no_upstream", "abandoned"] as const;

export function makeSpliceCounters(): SpliceCounters {
  return {
    ended: { served: 0, denied: 0, broken: 0, account_limit: 0, no_upstream: 0, abandoned: 0 },
    bytesIn: 0,
    bytesOut: 0,
  };
}

/**
 * Exports the counters to the registry.
 * @param open number of connections that are being forwarded now
 */
export function exportSpliceCounters(counters: SpliceCounters, metrics: Metrics, open: () => number): void {
  for (const result of results) {
    metrics.counterOf(
      "postern_spliced_connections_total",
      "Connections to TLS and TCP edges and endpoints, by outcome.",
      () => counters.ended[result],
      { result },
    );
  }
  metrics.counterOf("postern_spliced_received_bytes_total", "Bytes from clients.", () => counters.bytesIn);
  metrics.counterOf("postern_spliced_sent_bytes_total", "Bytes to clients.", () => counters.bytesOut);
  metrics.gauge("postern_spliced_connections", "Forwarded connections that are open.", open);
}
