import { Refusal } from "../lib/errors.ts";
import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { answerChallenge, answerHandshake, refusalStatus } from "../webhooks/challenge.ts";
import { providerNamed, providers } from "../webhooks/providers.ts";
import type { WebhookMessage } from "../webhooks/scheme.ts";
import { ecdsaPublicKey } from "../webhooks/special.ts";
import { unsigned, verifyWebhook } from "../webhooks/verify.ts";
import type { Exchange } from "./exchange.ts";
import { defineModule } from "./module.ts";
import { answered, denied, passed } from "./step.ts";
import type { Step } from "./step.ts";

/** Bytes of a body that is held in memory to be verified; above it the request is refused with 413. */
export const maxWebhookBytes = 5 * 1024 * 1024;

const providerName: StringFormat = {
  name: "webhook-provider",
  example: "github",
  check: (text) =>
    providerNamed(text) === undefined ? `be one of ${Object.keys(providers).join(", ")}, in any case` : undefined,
};

/** Providers whose key is no text: it is given as base64. */
const base64Keys = new Set(["brex", "clerk", "svix", "microsoft_teams"]);

export const webhookVerification = defineModule({
  name: "webhook_verification",
  schemaName: "EndpointWebhookValidation",
  on: ["https_route"],
  doc: "Lets only webhooks pass whose signature verifies. The body is held back until then and passed on unchanged; requests by which a provider tests the endpoint are answered at the edge.",
  fields: {
    provider: f.string("The webhook provider sending to the endpoint.", { required: true, format: providerName }),
    secret: f.string(
      "Secret shared with the provider; for SendGrid its public key. Required for all providers except AWS SNS.",
      {
        secret: true,
        maxBytes: 4096,
      },
    ),
  },
  rules: [
    ({ provider, secret }) =>
      providerNamed(provider) === "sns" && secret !== ""
        ? { path: "secret", message: "must be empty for SNS, which signs with a certificate" }
        : undefined,
    ({ provider, secret }) =>
      providerNamed(provider) !== "sns" && secret === ""
        ? { path: "secret", message: `is required for provider "${provider}"` }
        : undefined,
    ({ provider, secret }) =>
      providerNamed(provider) === "sendgrid" && secret !== "" && !isEcdsaKey(secret)
        ? { path: "secret", message: "must be the base64 of an ECDSA public key (P-256) in DER" }
        : undefined,
    ({ provider, secret }) =>
      base64Keys.has(providerNamed(provider) ?? "") &&
      !/^(?:whsec_)?[A-Za-z0-9+/]+={0,2}$/.test(secret) &&
      secret !== ""
        ? { path: "secret", message: `must be base64 for provider "${provider}"` }
        : undefined,
  ],
  compile(config, { clock }) {
    const provider = providerNamed(config.provider);
    if (provider === undefined) throw new Error(`find webhook provider "${config.provider}": it does not exist`);
    const { secret } = config;
    if (secret === "" && provider !== "sns") throw new Error(`verify webhooks of ${provider}: there is no secret`);
    if (provider === "sendgrid") ecdsaPublicKey(secret);
    const verified = passed(name, `the signature of ${provider} verifies`);
    const status = refusalStatus(provider);
    const refused = (reason: string): Step =>
      status === undefined
        ? denied(name, "webhook_unverified", reason)
        : { by: name, outcome: "denied", reason, answer: { status, headers: {}, body: "" } };

    return {
      async request(exchange) {
        const { request } = exchange;
        const { headers, method } = request;
        const head: Omit<WebhookMessage, "body"> = { method, url: publicUrl(exchange), headers };
        const handshake = answerHandshake(provider, secret, head);
        if (handshake) return answered(name, `answered the endpoint test of ${provider}`, handshake);
        const missing = unsigned(provider, headers);
        if (missing) return refused(missing);
        let body: Buffer;
        try {
          body = await exchange.body(maxWebhookBytes);
        } catch (error) {
          if (error instanceof Refusal) return denied(name, error.reason, error.message);
          throw error;
        }
        const wrong = await verifyWebhook(provider, secret, { ...head, body }, clock.now());
        if (wrong) return refused(wrong);
        const challenge = answerChallenge(provider, secret, body);
        return challenge ? answered(name, `answered the endpoint test of ${provider}`, challenge) : verified;
      },
    };
  },
});

const name = "webhook_verification";

/** As the sender wrote it: the port is in Host when it is not the scheme's own. */
function publicUrl({ request }: Exchange): string {
  return `${request.scheme}://${request.headers.get("host") ?? request.host}${request.target}`;
}

function isEcdsaKey(text: string): boolean {
  try {
    ecdsaPublicKey(text);
    return true;
  } catch {
    return false;
  }
}
