/** Read by the module that verifies webhooks, at the edge. */
import { countKind } from "./kinds/number.ts";
import { one, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const webhookSettings = {
  webhookMaxBytes: one(
    "Maximum bytes of a webhook's body. The server keeps the body in memory until it has verified the signature, and rejects larger ones with 413.",
    countKind("BYTES"),
    { default: 5_242_880 },
  ),
  // Only ids that the signature covers count, because a replayed message can change any other id.
  webhookRefuseReplays: toggle(
    "Reject a webhook whose signed id already got a successful answer (SNS, Svix, Clerk, Brex, Mailgun, Plivo). A provider that missed the answer gets 409 for its retry.",
  ),
} as const;

export type WebhookSettings = ValuesOf<typeof webhookSettings>;
