/** Signs replayed webhooks as their provider would now, because services reject old signatures. */
import { LocalRefusal } from "./local-refusal.ts";
import type { Outgoing } from "./outgoing-request.ts";

/** How visitors of a tunnel prove that they are the provider. */
export interface WebhookOptions {
  readonly provider: string;
  readonly secret: string;
}

/** The verification that the tunnel requests from its server, or undefined. */
export function webhooksOf(options: Readonly<Record<string, unknown>> | undefined): WebhookOptions | undefined {
  const asked = options?.["WebhookVerification"] as WebhookOptions | undefined;
  return typeof asked?.provider === "string" && typeof asked.secret === "string" ? asked : undefined;
}

/**
 * Returns the request with a signature of `now`. A request without a signature stays unchanged unless `isAsked`. Throws
 * `LocalRefusal` if a signature is requested that only the provider can make.
 *
 * @param url its destination without path
 * @param now milliseconds since 1970
 */
export async function signAnew(
  request: Outgoing,
  webhooks: WebhookOptions | undefined,
  { url, now, isAsked }: { readonly url: string; readonly now: number; readonly isAsked: boolean },
): Promise<Outgoing> {
  const refuse = (why: string): LocalRefusal =>
    new LocalRefusal("local_replay_impossible", `the request cannot be signed again: ${why}`);
  if (!webhooks) {
    if (isAsked) throw refuse("its tunnel verifies no webhooks, so that no secret is known");
    return request;
  }
  const { providerNamed } = await import("../webhooks/webhook-providers.ts");
  const { signSample, explainUnsigned } = await import("../webhooks/webhook-verification.ts");
  const provider = providerNamed(webhooks.provider) ?? webhooks.provider;
  const { method, uri, fields, body } = request;
  const getAll = (name: string): string[] =>
    fields.flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
  if (!isAsked && explainUnsigned(provider, { getAll }) !== undefined) return request;
  try {
    const signed = signSample(provider, { secret: webhooks.secret, body, url: url + uri, method, now });
    const replaced = new Set(Object.keys(signed.headers).map((name) => name.toLowerCase()));
    const target = signed.url === undefined ? undefined : new URL(signed.url);
    return {
      ...request,
      uri: target ? target.pathname + target.search : uri,
      fields: [...fields.filter(([name]) => !replaced.has(name.toLowerCase())), ...Object.entries(signed.headers)],
      body: signed.body ?? body,
    };
  } catch (error) {
    if (isAsked) throw refuse((error as Error).message);
    // If only the provider can sign, the request is sent unchanged.
    return request;
  }
}
