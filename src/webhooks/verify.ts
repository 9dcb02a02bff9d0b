import { sameWork } from "../lib/heartbeat.ts";
import { providers } from "./providers.ts";
import type { Sample, Scheme, Signed, WebhookMessage } from "./scheme.ts";
import { signingSecretIssue } from "./secrets.ts";

/** Whether a request can hold without its body having been read: else what is wrong. @param isStrict see `verifyWebhook` */
export function unsigned(provider: string, headers: WebhookMessage["headers"], isStrict = false): string | undefined {
  return schemesOf(provider, isStrict).some((scheme) => scheme.isClaimed(headers))
    ? undefined
    : "the signature is missing";
}

export interface Verdict {
  /** What is wrong, as a clause for operators; undefined when a signature of the provider holds. */
  readonly wrong: string | undefined;
  /** Of a message that holds, where its signature covers one. */
  readonly messageId?: string | undefined;
}

/**
 * @param provider as `providerNamed` gives it
 * @param now milliseconds since 1970
 * @param isStrict only the provider's newest form of signature holds
 */
export async function verifyWebhook(
  provider: string,
  secret: string,
  message: WebhookMessage,
  now: number,
  isStrict = false,
): Promise<Verdict> {
  const here = sameWork();
  let first: string | undefined;
  for (const scheme of schemesOf(provider, isStrict)) {
    if (!scheme.isClaimed(message.headers)) continue;
    const wrong = here(await scheme.verify(secret, message, now));
    // Of the scheme that holds: the fields of another one are not covered by what was verified.
    if (wrong === undefined) return { wrong, messageId: scheme.messageId?.(message) };
    first ??= wrong;
  }
  return { wrong: first ?? "the signature is missing" };
}

function schemesOf(provider: string, isStrict: boolean): readonly Scheme[] {
  const schemes = providers[provider] ?? [];
  return isStrict ? schemes.filter(({ isOlder }) => isOlder !== true) : schemes;
}

/** URL that `verifyWebhook` would fetch now; undefined when it would not. */
export function wouldFetch(provider: string, message: WebhookMessage, now: number): string | undefined {
  for (const scheme of providers[provider] ?? []) {
    const url = scheme.isClaimed(message.headers) ? scheme.wouldFetch?.(message, now) : undefined;
    if (url !== undefined) return url;
  }
  return undefined;
}

/**
 * Header fields (and URL or body, where the scheme signs there) that make a sample verify. Throws for a provider
 * whose key only it has, for one that is unknown, and for a secret that cannot be the provider's.
 */
export function sign(provider: string, sample: Omit<Sample, "method"> & { readonly method?: string }): Signed {
  const scheme = providers[provider]?.[0];
  if (!scheme) throw new Error(`sign for "${provider}": the provider is unknown`);
  const wrong = signingSecretIssue(provider, sample.secret);
  if (wrong !== undefined) throw new Error(`the secret ${wrong}`);
  return scheme.sign({ ...sample, method: sample.method ?? "POST" });
}
