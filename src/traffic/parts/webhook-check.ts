import { Refusal } from "../../lib/errors.ts";
import { answerChallenge, answerHandshake, refusalStatus } from "../../webhooks/challenge.ts";
import { TakenMessages } from "../../webhooks/replays.ts";
import type { WebhookMessage } from "../../webhooks/scheme.ts";
import { unsigned, verifyWebhook, wouldFetch } from "../../webhooks/verify.ts";
import type { WebhookSettings } from "../../settings/webhooks.ts";
import type { Exchange } from "../exchange.ts";
import type { CompiledModule, Scope } from "../module.ts";
import { answered, denied, passed, skipped } from "../step.ts";
import type { Step } from "../step.ts";

export const webhookVerificationName = "webhook_verification";
const name = webhookVerificationName;

/** What the module does to requests. */
export function webhookCheck(
  provider: string,
  secret: string,
  { webhookMaxBytes: maxBytes, webhookRefuseReplays: refuseReplays }: WebhookSettings,
  { clock, ownerId, keep }: Pick<Scope, "clock" | "ownerId" | "keep">,
): CompiledModule {
  const verified = passed(name, `the signature of ${provider} verifies`);
  const tooLarge = denied(
    name,
    "webhook_too_large",
    `the body is larger than the ${maxBytes} bytes that --webhook-max-bytes allows`,
  );
  const status = refusalStatus(provider);
  const refused = (reason: string): Step =>
    status === undefined
      ? denied(name, "webhook_unverified", reason)
      : { by: name, outcome: "denied", reason, answer: { status, headers: {}, body: "" } };
  const taken = refuseReplays ? keep(`webhooks taken by ${ownerId}`, () => new TakenMessages()) : undefined;
  /** Ids of the messages that are under way. */
  const passing = new WeakMap<Exchange, string>();

  const decide = async (exchange: Exchange, isRehearsal: boolean): Promise<Step> => {
    const { request } = exchange;
    const { headers, method } = request;
    const head: Omit<WebhookMessage, "body"> = { method, url: publicUrl(exchange), headers };
    // What an upgraded connection carries is covered by no signature.
    if (request.upgrade) return refused("the request asks to change the protocol of its connection");
    const handshake = answerHandshake(provider, secret, head);
    if (handshake) return answered(name, `answered the endpoint test of ${provider}`, handshake);
    const missing = unsigned(provider, headers);
    if (missing) return refused(missing);
    let body: Buffer;
    try {
      body = await exchange.body(maxBytes);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.reason === "payload_too_large" ? tooLarge : denied(name, error.reason, error.message);
    }
    const message = { ...head, body };
    const fetched = isRehearsal ? wouldFetch(provider, message, clock.now()) : undefined;
    if (fetched !== undefined) return skipped(name, `would fetch ${fetched} and verify the signature by it`);
    const { wrong, messageId } = await verifyWebhook(provider, secret, message, clock.now());
    if (wrong) return refused(wrong);
    const challenge = answerChallenge(provider, secret, body);
    if (challenge) return answered(name, `answered the endpoint test of ${provider}`, challenge);
    if (taken && messageId !== undefined) {
      if (taken.has(messageId, clock.now())) return denied(name, "webhook_replayed", "its id was taken before");
      passing.set(exchange, messageId);
    }
    return verified;
  };
  return {
    request: (exchange) => decide(exchange, false),
    rehearse: (exchange) => decide(exchange, true),
    ...(taken && {
      settled(exchange: Exchange, upstreamStatus: number | undefined) {
        const messageId = passing.get(exchange);
        const isTaken = upstreamStatus !== undefined && upstreamStatus >= 200 && upstreamStatus < 300;
        if (messageId !== undefined && isTaken) taken.add(messageId, clock.now());
      },
    }),
  };
}

/** As the sender wrote it: the port is in Host when it is not the scheme's own. */
function publicUrl({ request }: Exchange): string {
  return `${request.scheme}://${request.headers.get("host") ?? request.host}${request.target}`;
}
