import type { Metrics } from "../../lib/metrics.ts";
import type { InboxOutcome } from "../../traffic/stored-request.ts";
import type { DeliveryVerdict } from "../../storage/inbox/inbox-messages.ts";

export interface InboxCounters {
  put(outcome: InboxOutcome): void;
  attempted(verdict: DeliveryVerdict["is"]): void;
}

export function makeInboxCounters(metrics: Metrics): InboxCounters {
  const puts: Record<InboxOutcome, number> = { stored: 0, duplicate: 0, full: 0, unavailable: 0 };
  for (const outcome of Object.keys(puts) as InboxOutcome[]) {
    metrics.counterOf("postern_inbox_messages_total", "Webhooks that inboxes received.", () => puts[outcome], {
      outcome,
    });
  }
  const attempts: Record<DeliveryVerdict["is"], number> = { delivered: 0, refused: 0, retry: 0, dead: 0, return: 0 };
  for (const outcome of Object.keys(attempts) as DeliveryVerdict["is"][]) {
    metrics.counterOf(
      "postern_inbox_attempts_total",
      "Attempts to deliver webhooks. return: no service was reached, so the attempt does not count.",
      () => attempts[outcome],
      { outcome },
    );
  }
  return {
    put: (outcome) => void (puts[outcome] += 1),
    attempted: (verdict) => void (attempts[verdict] += 1),
  };
}
