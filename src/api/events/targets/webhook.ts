/** Delivery over HTTP, signed as the Standard Webhooks specification says (webhook-id, -timestamp, -signature). */
import { createHmac } from "node:crypto";
import type { Event } from "../event/event.ts";
import { answeredProblem } from "./answer.ts";
import { leftover } from "./target.ts";
import type { TargetKind } from "./target.ts";

/** One POST each; so many at once where their order is free. */
const limits = { events: 16, bytes: 16 * 1024 * 1024, perEvent: 0, eventBytes: 8 * 1024 * 1024 } as const;

export const webhook: TargetKind = {
  open(value, { outbound }) {
    const url = new URL(String(value["url"]));
    const secret = String(value["secret"]);
    /** Redirects are not followed. */
    const post = async (event: Event): Promise<void> => {
      const nowMs = outbound.clock.now();
      const answer = await outbound.send({
        method: "POST",
        url,
        headers: headersFor(secret, event, nowMs),
        body: event.body,
      });
      if (answer.status < 200 || answer.status > 299) throw answeredProblem(answer, "", nowMs);
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
        return leftover(events, why, false);
      },
      close: () => outbound.close(),
    };
  },
};

async function inOrder(
  events: readonly Event[],
  post: (event: Event) => Promise<void>,
): Promise<ReturnType<typeof leftover>> {
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

function headersFor(secret: string, { id, body }: Event, nowMs: number): Record<string, string> {
  const seconds = String(Math.floor(nowMs / 1000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
}
