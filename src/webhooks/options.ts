/** What a module or an action demands of webhooks beyond a signature. */
import { signsInOlderForms } from "./providers.ts";

export interface WebhookDemands {
  /** Only the provider's newest form of signature counts. */
  readonly newestSignatureOnly: boolean;
  /** Topics of SNS whose messages are taken; empty: any. */
  readonly snsTopics: readonly string[];
}

/**
 * What is wrong with them for a provider, by the field; undefined when nothing is.
 * @param provider as `providerNamed` gives it
 */
export function demandIssue(
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
