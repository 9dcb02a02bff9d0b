import type { Metrics } from "../../lib/metrics.ts";

/** Counters that the traffic path increments. A scrape reads them. */
export interface HttpCounters {
  /** Number of exchanges by the first digit of their status. Index 0 counts exchanges without a status. */
  readonly byClass: number[];
  /** Number of requests refused before an exchange began, because they were unreadable, too large or too slow. */
  malformed: number;
  /** Number of requests that were retried. */
  repeated: number;
  /** Number of body bytes from and to clients. */
  bytesIn: number;
  bytesOut: number;
  openConnections: number;
  openExchanges: number;
  /** Number of body bytes received and not yet forwarded. */
  heldBytes: number;
  /** The part of `heldBytes` of each known account, by account id. */
  readonly heldByAccount: Map<string, number>;
}

export function makeCounters(): HttpCounters {
  return {
    byClass: [0, 0, 0, 0, 0, 0],
    malformed: 0,
    repeated: 0,
    bytesIn: 0,
    bytesOut: 0,
    openConnections: 0,
    openExchanges: 0,
    heldBytes: 0,
    heldByAccount: new Map(),
  };
}

/** Exports the counters to the registry. */
export function exportCounters(counters: HttpCounters, metrics: Metrics): void {
  for (const digit of [1, 2, 3, 4, 5]) {
    metrics.counterOf(
      "postern_http_requests_total",
      "Requests answered, by class of status.",
      () => counters.byClass[digit] as number,
      { status: `${digit}xx` },
    );
  }
  metrics.counterOf(
    "postern_http_requests_total",
    "Requests answered, by class of status.",
    () => counters.byClass[0] as number,
    { status: "none" },
  );
  metrics.counterOf("postern_http_malformed_total", "Requests that were not valid HTTP.", () => counters.malformed);
  metrics.counterOf(
    "postern_http_repeated_total",
    "Requests sent again because the upstream connection was lost before the response.",
    () => counters.repeated,
  );
  metrics.counterOf("postern_http_received_bytes_total", "Request body bytes.", () => counters.bytesIn);
  metrics.counterOf("postern_http_sent_bytes_total", "Response body bytes.", () => counters.bytesOut);
  metrics.gauge("postern_http_connections", "Public connections open.", () => counters.openConnections);
  metrics.gauge("postern_http_held_bytes", "Body bytes stored at the edge.", () => counters.heldBytes);
  metrics.gauge("postern_http_exchanges", "Requests in flight.", () => counters.openExchanges);
}
