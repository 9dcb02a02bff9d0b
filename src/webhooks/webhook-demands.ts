/** Options of a module or action for webhooks, in addition to a valid signature. */
import { signsInOlderForms } from "./webhook-providers.ts";

export interface WebhookDemands {
  /** Whether only the provider's newest form of signature is accepted. */
  readonly newestSignatureOnly: boolean;
  /** Accepted topics of SNS messages; empty: all. */
  readonly snsTopics: readonly string[];
}

/**
 * Returns the problem of the options for a provider, by field, or undefined.
 * @param provider as `providerNamed` returns it
 */
export function findDemandIssue(
  provider: string,
  { newestSignatureOnly, snsTopics }: WebhookDemands,
): { readonly path: "newest_signature_only" | "sns_topics"; readonly message: string } | undefined {
  if (newestSignatureOnly && !signsInOlderForms(provider)) {
    return { path: "newest_signature_only", message: `must be false for "${provider}": it signs in one form only` };
  }
  if (snsTopics.length === 0) return undefined;
  if (provider !== "sns") return { path: "sns_topics", message: `must be empty for "${provider}": it has no topics` };
  const at = snsTopics.findIndex(
    (topic) => !/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}(?:\.fifo)?$/.test(topic),
  );
  if (at < 0) return undefined;
  return { path: "sns_topics", message: `must be ARNs of topics, such as "arn:aws:sns:eu-west-1:123456789012:orders"` };
}
