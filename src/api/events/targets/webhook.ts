/** Delivery over HTTP, signed according to the Standard Webhooks specification (webhook-id, -timestamp, -signature). */
import { createHmac } from "node:crypto";
import { signingKey } from "../../../resources/event-target.ts";
import type { Event } from "../event/event.ts";
import { toNotDelivered } from "./response.ts";
import { NotDelivered, collectLeftover } from "./opened-target.ts";
import type { TargetKind } from "./opened-target.ts";

/** One POST per event. This is the maximum number of parallel requests if the order is free. */
const limits = { events: 16, bytes: 16 * 1024 * 1024, perEvent: 0, eventBytes: 8 * 1024 * 1024 } as const;

export const webhook: TargetKind<"webhook"> = {
  open(value, { outbound }) {
    const url = new URL(value.url);
    const key = signingKey(value.secret);
    // An earlier version may have stored an empty key, with which anyone could sign.
    if (key.length === 0) throw new NotDelivered("its secret is an empty key: set another one");
    /** Redirects are not followed. */
    const post = async (event: Event): Promise<void> => {
      const nowMs = outbound.clock.now();
      const answer = await outbound.send({
        method: "POST",
        url,
        headers: headersFor(key, event, nowMs),
        body: event.body,
      });
      if (answer.status < 200 || answer.status > 299) throw toNotDelivered(answer, "", nowMs);
    };
    return {
      limits,
      async deliver(events, ordered) {
        if (ordered) return await inOrder(events, post);
        const results = await Promise.allSettled(events.map(post));
        if (results.every(({ status }) => status === "rejected")) throw (results[0] as PromiseRejectedResult).reason;
        const why = (index: number): string | undefined => {
          const result = results[index];
          return result?.status === "rejected" ? (result.reason as Error).message : undefined;
        };
        return collectLeftover(events, why, false);
      },
      close: () => outbound.close(),
    };
  },
};

async function inOrder(
  events: readonly Event[],
  post: (event: Event) => Promise<void>,
): Promise<ReturnType<typeof collectLeftover>> {
  for (const [index, event] of events.entries()) {
    try {
      await post(event);
    } catch (error) {
      if (index === 0) throw error;
      return { events: events.slice(index), why: (error as Error).message };
    }
  }
  return undefined;
}

function headersFor(key: Buffer, { id, body }: Event, nowMs: number): Record<string, string> {
  const seconds = String(Math.floor(nowMs / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
}
