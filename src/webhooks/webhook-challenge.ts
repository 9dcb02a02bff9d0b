import { createHmac } from "node:crypto";
import type { WebhookMessage } from "./scheme.ts";
import { parseJson } from "./special.ts";

/** A response that proves to the provider that its customer controls the endpoint. */
export interface ChallengeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const json = { "content-type": "application/json" };
const maxEchoedBytes = 256;

/** Answers an unsigned request that a provider sends before it sends webhooks. */
export function answerHandshake(
  provider: string,
  secret: string,
  { method, url, headers }: Omit<WebhookMessage, "body">,
): ChallengeAnswer | undefined {
  if (method !== "GET") return undefined;
  if (provider === "twitter") {
    const token = new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("crc_token");
    // The response contains a signature of the token, so the token must not resemble the body of a webhook.
    if (token === null || !/^[A-Za-z0-9+/=._-]{1,256}$/.test(token)) return undefined;
    const response_token = `sha256=${createHmac("sha256", secret).update(token).digest("base64")}`;
    return { status: 200, headers: json, body: JSON.stringify({ response_token }) };
  }
  if (provider === "worldline") {
    const [token, ...more] = headers.getAll("x-gcs-webhooks-endpoint-verification");
    if (token === undefined || more.length > 0 || token.length > maxEchoedBytes) return undefined;
    return { status: 200, headers: { "content-type": "text/plain" }, body: token };
  }
  return undefined;
}

/** Answers a request that is signed like a webhook but is only a test. Call after its signature was verified. */
export function answerChallenge(provider: string, secret: string, body: Buffer): ChallengeAnswer | undefined {
  if (provider === "zoom") {
    const { event, payload } = (parseJson(body) ?? {}) as { event?: unknown; payload?: { plainToken?: unknown } };
    const plainToken = payload?.plainToken;
    if (event !== "endpoint.url_validation" || typeof plainToken !== "string") return undefined;
    const encryptedToken = createHmac("sha256", secret).update(plainToken).digest("hex");
    return { status: 200, headers: json, body: JSON.stringify({ plainToken, encryptedToken }) };
  }
  if (provider === "xero") {
    // "Intent to receive" is a webhook without events.
    const { events } = (parseJson(body) ?? {}) as { events?: unknown };
    return Array.isArray(events) && events.length === 0 ? { status: 200, headers: {}, body: "" } : undefined;
  }
  return undefined;
}

/** Returns the status for an invalid webhook, if the provider tests for a status other than 403. */
export function refusalStatus(provider: string): number | undefined {
  return provider === "xero" ? 401 : undefined;
}
