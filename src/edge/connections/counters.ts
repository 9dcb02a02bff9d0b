import type { Metrics } from "../../lib/metrics.ts";
import type { ConnectionOutcome } from "../../routing/planes/questions.ts";

/** Plain numbers that spliced connections add to; a scrape reads them. */
export interface SpliceCounters {
  readonly ended: Record<ConnectionOutcome, number>;
  /** Bytes from clients, and to them. */
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

/** Shows the counters in the registry. @param open connections that are being passed on now */
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
