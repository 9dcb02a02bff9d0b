import type { Metrics } from "../../lib/metrics.ts";

/** Plain numbers that the traffic path adds to; a scrape reads them. */
export interface HttpCounters {
  /** Exchanges by first digit of their status; [0] those that ended without one. */
  readonly byClass: number[];
  /** Requests refused before there was an exchange: unreadable, too large or too slow. */
  malformed: number;
  /** Requests that were sent a second time. */
  repeated: number;
  /** Body bytes from clients, and to them. */
  bytesIn: number;
  bytesOut: number;
  openConnections: number;
  openExchanges: number;
  /** Of bodies that came and were not passed on yet. */
  heldBytes: number;
  /** The part of them that is known to be of an account, by its id. */
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

/** Shows the counters in the registry. */
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
