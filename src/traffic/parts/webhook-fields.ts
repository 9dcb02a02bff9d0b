/** Fields shared by the module and the action that verify webhooks. */
import { f } from "../../schema/fields.ts";
import type { WebhookDemands } from "../../webhooks/webhook-demands.ts";

export const webhookDemands = {
  newest_signature_only: f.boolean(
    "Accept only the provider's newest signature format, for HubSpot and Plivo version 3. Older formats cover less of the request.",
    { default: false },
  ),
  sns_topics: f.list(
    "ARNs of the SNS topics whose messages are accepted; empty: all topics. An SNS signature proves that Amazon sent the message, but not who owns the topic.",
    f.string("An ARN.", { minBytes: 1, maxBytes: 512 }),
    { maxItems: 20, unique: true },
  ),
};

interface WebhookFields {
  readonly newest_signature_only?: boolean | undefined;
  readonly sns_topics?: readonly string[] | undefined;
}

/** Configurations from before these fields existed require nothing. */
export function demandsOf({ newest_signature_only, sns_topics }: WebhookFields): WebhookDemands {
  return { newestSignatureOnly: newest_signature_only ?? false, snsTopics: sns_topics ?? [] };
}
