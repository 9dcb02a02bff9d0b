import type { Counter, Metrics } from "../../lib/metrics.ts";

/** Result of a public TLS handshake. */
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

/** Counts handshakes. A result appears in the metrics after its first handshake. */
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
