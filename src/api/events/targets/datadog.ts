/** Datadog, the log intake's version 2. */
import { toNotDelivered } from "./response.ts";
import type { TargetKind } from "./opened-target.ts";

/** Datadog's limits are 1,000 logs and 5 MB per request, and 1 MB per log. Escaped quotes make logs longer. */
const limits = { events: 1000, bytes: 2_000_000, perEvent: 600, eventBytes: 500_000 } as const;

export const datadog: TargetKind<"datadog"> = {
  open(value, { outbound }) {
    const site = value.ddsite || "datadoghq.com";
    const url = new URL(value.endpoint || `https://http-intake.logs.${site}/api/v2/logs`);
    const headers = { "content-type": "application/json", "dd-api-key": value.api_key };
    const { ddtags, service } = value;
    const attributes = { ddsource: "postern", ...(ddtags !== "" && { ddtags }), ...(service !== "" && { service }) };
    return {
      limits,
      async deliver(events) {
        const body = JSON.stringify(events.map((event) => ({ ...attributes, message: event.body })));
        const answer = await outbound.send({ method: "POST", url, headers, body });
        if (answer.status !== 202) throw toNotDelivered(answer, "", outbound.clock.now());
        return undefined;
      },
      close: () => outbound.close(),
    };
  },
};
