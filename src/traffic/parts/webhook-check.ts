import { captureWork } from "../../lib/heartbeat.ts";
import { Refusal } from "../../lib/errors.ts";
import { answerChallenge, answerHandshake, refusalStatus } from "../../webhooks/webhook-challenge.ts";
import type { WebhookDemands } from "../../webhooks/webhook-demands.ts";
import { TakenRequests } from "../../webhooks/replays.ts";
import type { WebhookMessage } from "../../webhooks/scheme.ts";
import { topicOf } from "../../webhooks/sns.ts";
import { explainUnsigned, verifyWebhook, findFetchUrl } from "../../webhooks/webhook-verification.ts";
import type { Clock } from "../../lib/clock.ts";
import type { WebhookSettings } from "../../settings/webhooks.ts";
import type { Exchange } from "../exchange.ts";
import { answerStep, denyStep, passStep, skipStep } from "../step.ts";
import type { Step } from "../step.ts";

export const webhookVerificationName = "webhook_verification";
const name = webhookVerificationName;

export type TakenWebhooks = TakenRequests<Exchange>;

/** The accepted messages of a key; undefined if the operator does not want replay protection. */
export function keepTakenWebhooks(
  { webhookRefuseReplays }: Pick<WebhookSettings, "webhookRefuseReplays">,
  key: string,
  keep: <T>(key: string, make: () => T) => T,
): TakenWebhooks | undefined {
  return webhookRefuseReplays ? keep(key, () => new TakenRequests()) : undefined;
}

export interface WebhookCheckOptions {
  /** Maximum size of a buffered body. */
  readonly maxBytes: number;
  readonly demands: WebhookDemands;
  /** Refuses messages that were accepted before. Absent: replays are not refused. */
  readonly taken: TakenWebhooks | undefined;
  readonly clock: Clock;
}

/** Decides about a webhook request. `isRehearsal`: without side effects. */
export type WebhookCheck = (exchange: Exchange, isRehearsal: boolean) => Promise<Step>;

export function webhookCheck(
  provider: string,
  secret: string,
  { maxBytes, demands, taken, clock }: WebhookCheckOptions,
): WebhookCheck {
  const { newestSignatureOnly, snsTopics } = demands;
  const verified = passStep(name, `the signature of ${provider} is valid`);
  const tooLarge = denyStep(
    name,
    "webhook_too_large",
    `the body is larger than the ${maxBytes} bytes that --webhook-max-bytes allows`,
  );
  const status = refusalStatus(provider);
  const refused = (reason: string): Step =>
    status === undefined
      ? denyStep(name, "webhook_unverified", reason)
      : { by: name, outcome: "denied", reason, answer: { status, headers: {}, body: "" } };

  return async (exchange, isRehearsal) => {
    const inSameWork = captureWork();
    const { request } = exchange;
    const { headers, method } = request;
    const head: Omit<WebhookMessage, "body"> = { method, url: publicUrl(exchange), headers };
    // No signature covers the bytes of an upgraded connection.
    if (request.upgrade) return refused("the request asks to change the protocol of its connection");
    const handshake = answerHandshake(provider, secret, head);
    if (handshake) return answerStep(name, `answered the endpoint test of ${provider}`, handshake);
    const missing = explainUnsigned(provider, headers, newestSignatureOnly);
    if (missing) return refused(missing);
    let body: Buffer;
    try {
      body = inSameWork(await exchange.body(maxBytes));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.reason === "payload_too_large" ? tooLarge : denyStep(name, error.reason, error.message);
    }
    const message = { ...head, body };
    const fetched = isRehearsal ? findFetchUrl(provider, message, clock.now()) : undefined;
    if (fetched !== undefined) return skipStep(name, `would fetch ${fetched} and verify the signature with it`);
    const { wrong, messageId } = inSameWork(
      await verifyWebhook(provider, secret, message, clock.now(), newestSignatureOnly),
    );
    if (wrong) return refused(wrong);
    if (snsTopics.length > 0 && !snsTopics.includes(topicOf(body) ?? "")) return refused("it belongs to another topic");
    const challenge = answerChallenge(provider, secret, body);
    if (challenge) return answerStep(name, `answered the endpoint test of ${provider}`, challenge);
    if (taken && messageId !== undefined) {
      if (taken.has(messageId, clock.now())) return denyStep(name, "webhook_replayed", "its id was already used");
      if (!isRehearsal) taken.begin(exchange, messageId);
    }
    exchange.webhookProvider = provider;
    return verified;
  };
}

/** The URL as the sender wrote it. Host includes the port if it is not the scheme's default. */
function publicUrl({ request }: Exchange): string {
  return `${request.scheme}://${request.headers.get("host") ?? request.host}${request.target}`;
}
