/** How many requests this thread has sent outside, and how they ended: plain numbers that a scrape reads. */
import type { Metrics } from "../lib/metrics.ts";

/** What a request outside is for. */
export type OutboundPurpose = (typeof outboundPurposes)[number];
const outboundPurposes = ["acme", "events", "logins", "policy", "webhooks"] as const;

const outcomes = ["answered", "failed"] as const;

const counts = new Map<string, number>();

export function countOutbound(purpose: OutboundPurpose, outcome: (typeof outcomes)[number]): void {
  const key = `${purpose} ${outcome}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Both planes export them, as both send requests; what is scraped is their sum. */
export function exportOutboundCounters(metrics: Metrics): void {
  for (const purpose of outboundPurposes) {
    for (const outcome of outcomes) {
      const read = (): number => counts.get(`${purpose} ${outcome}`) ?? 0;
      metrics.counterOf(
        "postern_outbound_requests_total",
        "Outgoing requests of the server: to certificate authorities, event destinations, identity providers, key servers, and hosts that traffic policies call.",
        read,
        { purpose, outcome },
      );
    }
  }
}
