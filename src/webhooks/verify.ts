import { providers } from "./providers.ts";
import type { Sample, Signed, WebhookMessage } from "./scheme.ts";

/** Whether a request can hold without its body having been read: else what is wrong. */
export function unsigned(provider: string, headers: WebhookMessage["headers"]): string | undefined {
  const schemes = providers[provider] ?? [];
  return schemes.some((scheme) => scheme.isClaimed(headers)) ? undefined : "there is no signature";
}

/**
 * What is wrong with a webhook, as a clause for operators; undefined when a signature of the provider holds.
 * @param provider as `providerNamed` gives it
 * @param now milliseconds since 1970
 */
export async function verifyWebhook(
  provider: string,
  secret: string,
  message: WebhookMessage,
  now: number,
): Promise<string | undefined> {
  let first: string | undefined;
  for (const scheme of providers[provider] ?? []) {
    if (!scheme.isClaimed(message.headers)) continue;
    const wrong = await scheme.verify(secret, message, now);
    if (wrong === undefined) return undefined;
    first ??= wrong;
  }
  return first ?? "there is no signature";
}

/**
 * Header fields (and URL or body, where the scheme signs there) that make a sample verify. Throws for a provider
 * whose key only it has, and for one that is unknown.
 */
export function sign(provider: string, sample: Omit<Sample, "method"> & { readonly method?: string }): Signed {
  const scheme = providers[provider]?.[0];
  if (!scheme) throw new Error(`sign for "${provider}": there is no such provider`);
  return scheme.sign({ ...sample, method: sample.method ?? "POST" });
}
