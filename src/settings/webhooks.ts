/** Read by the module that verifies webhooks, at the edge. */
import { count } from "./kinds/number.ts";
import { one, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const webhookSettings = {
  webhookMaxBytes: one(
    "Bytes of a webhook's body that are held in memory until its signature is verified; larger ones are refused with 413.",
    count("BYTES"),
    { default: 5_242_880 },
  ),
  // Only ids that the signature covers count: whoever replays a message can change any other.
  webhookRefuseReplays: toggle(
    "Refuse a webhook whose signed id was answered with success before (SNS, Svix, Clerk, Brex, Mailgun, Plivo). A provider that missed the answer gets 409 when it tries again.",
  ),
} as const;

export type WebhookSettings = ValuesOf<typeof webhookSettings>;
