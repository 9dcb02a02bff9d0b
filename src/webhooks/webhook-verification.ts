import { captureWork } from "../lib/heartbeat.ts";
import { providers } from "./webhook-providers.ts";
import type { WebhookSample, Scheme, Signed, WebhookMessage } from "./scheme.ts";
import { signingSecretIssue } from "./secret-formats.ts";

/**
 * Returns the problem if a request cannot be valid, before its body is read.
 * @param isStrict see `verifyWebhook`
 */
export function explainUnsigned(
  provider: string,
  headers: WebhookMessage["headers"],
  isStrict = false,
): string | undefined {
  return schemesOf(provider, isStrict).some((scheme) => scheme.isClaimed(headers))
    ? undefined
    : "the signature is missing";
}

export interface WebhookCheck {
  /** The problem as a clause for operators; undefined if a signature of the provider is valid. */
  readonly wrong: string | undefined;
  /** Id of a valid message, if its signature covers one. */
  readonly messageId?: string | undefined;
}

/**
 * @param provider as `providerNamed` returns it
 * @param now milliseconds since 1970
 * @param isStrict whether only the provider's newest form of signature is accepted
 */
export async function verifyWebhook(
  provider: string,
  secret: string,
  message: WebhookMessage,
  now: number,
  isStrict = false,
): Promise<WebhookCheck> {
  const inSameWork = captureWork();
  let first: string | undefined;
  for (const scheme of schemesOf(provider, isStrict)) {
    if (!scheme.isClaimed(message.headers)) continue;
    const wrong = inSameWork(await scheme.verify(secret, message, now));
    // Only fields of the valid scheme, because the signature does not cover those of other schemes.
    if (wrong === undefined) return { wrong, messageId: scheme.messageId?.(message) };
    first ??= wrong;
  }
  return { wrong: first ?? "the signature is missing" };
}

function schemesOf(provider: string, isStrict: boolean): readonly Scheme[] {
  const schemes = providers[provider] ?? [];
  return isStrict ? schemes.filter(({ isOlder }) => isOlder !== true) : schemes;
}

/** Returns the URL that `verifyWebhook` would fetch now, or undefined. */
export function findFetchUrl(provider: string, message: WebhookMessage, now: number): string | undefined {
  for (const scheme of providers[provider] ?? []) {
    const url = scheme.isClaimed(message.headers) ? scheme.wouldFetch?.(message, now) : undefined;
    if (url !== undefined) return url;
  }
  return undefined;
}

/**
 * Returns header fields, and a URL or body if the scheme signs there, for a valid sample. Throws if the provider is
 * unknown, only the provider has the key, or the secret is invalid.
 */
export function signSample(
  provider: string,
  sample: Omit<WebhookSample, "method"> & { readonly method?: string },
): Signed {
  const scheme = providers[provider]?.[0];
  if (!scheme) throw new Error(`sign for "${provider}": the provider is unknown`);
  const wrong = signingSecretIssue(provider, sample.secret);
  if (wrong !== undefined) throw new Error(`the secret ${wrong}`);
  return scheme.sign({ ...sample, method: sample.method ?? "POST" });
}

/** Only these providers have the key with which they sign. */
const signsAlone: ReadonlySet<string> = new Set(["sns", "sendgrid"]);

/**
 * Signs a received webhook as its provider would now, with the same id and in the same form. Returns undefined if only
 * the provider can sign.
 */
export function signAnew(provider: string, secret: string, message: WebhookMessage, now: number): Signed | undefined {
  if (signsAlone.has(provider)) return undefined;
  const schemes = providers[provider] ?? [];
  const scheme = schemes.find(({ isClaimed }) => isClaimed(message.headers)) ?? schemes[0];
  const { method, url, body } = message;
  return scheme?.sign({ secret, method, url, body, now, id: scheme.messageId?.(message) });
}
