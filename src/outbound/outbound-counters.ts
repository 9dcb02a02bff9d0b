/** Counts outbound requests of this thread by result, as plain numbers for the metrics. */
import type { Metrics } from "../lib/metrics.ts";

/** Purpose of an outbound request. */
export type OutboundPurpose = (typeof outboundPurposes)[number];
const outboundPurposes = [
  "acme",
  "address_lists",
  "dns",
  "events",
  "logins",
  "policy",
  "telemetry",
  "webhooks",
] as const;

const outcomes = ["answered", "failed"] as const;

const counts = new Map<string, number>();

export function countOutbound(purpose: OutboundPurpose, outcome: (typeof outcomes)[number]): void {
  const key = `${purpose} ${outcome}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Both planes send requests and export the counters. The metrics contain the sum. */
export function exportOutboundCounters(metrics: Metrics): void {
  for (const purpose of outboundPurposes) {
    for (const outcome of outcomes) {
      const read = (): number => counts.get(`${purpose} ${outcome}`) ?? 0;
      metrics.counterOf(
        "postern_outbound_requests_total",
        "Outgoing requests of the server: to certificate authorities, DNS providers, servers of address lists, event destinations, identity providers, key servers, hosts that traffic policies call, and OpenTelemetry endpoints.",
        read,
        { purpose, outcome },
      );
    }
  }
}
