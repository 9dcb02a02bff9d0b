import type { Counter, Metrics } from "../../lib/metrics.ts";

/** How a public TLS handshake ended. */
export type HandshakeResult =
  | "completed"
  | "failed"
  | "timeout"
  | "unreadable"
  | "unknown_name"
  | "outdated"
  | "denied"
  | "account_limit"
  | "passed_through";

/** Counts handshakes; a result appears among the metrics with the first of them. */
export function makeHandshakeCounter(metrics: Metrics): (result: HandshakeResult) => void {
  const counters = new Map<HandshakeResult, Counter>();
  return (result) => {
    let counter = counters.get(result);
    if (!counter) {
      counter = metrics.counter("postern_tls_handshakes_total", "TLS handshakes, by outcome.", { result });
      counters.set(result, counter);
    }
    counter.add();
  };
}
