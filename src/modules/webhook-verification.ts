import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { providerNamed, providers } from "../webhooks/webhook-providers.ts";
import { findDemandIssue } from "../webhooks/webhook-demands.ts";
import { signAnew } from "../webhooks/webhook-verification.ts";
import { secretIssue } from "../webhooks/secret-formats.ts";
import type { Exchange } from "../traffic/exchange.ts";
import { demandsOf, webhookDemands } from "../traffic/parts/webhook-fields.ts";
import { defineModule } from "../traffic/module.ts";
import { keepTakenWebhooks, webhookCheck, webhookVerificationName } from "../traffic/parts/webhook-check.ts";
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import type { WebhookSettings } from "../settings/webhooks.ts";

const providerName: StringFormat = {
  name: "webhook-provider",
  example: "github",
  check: (text) =>
    providerNamed(text) === undefined ? `be one of ${Object.keys(providers).join(", ")}, in any case` : undefined,
};

/** Returns the module with the operator's settings. */
export function webhookVerificationWith(settings: WebhookSettings) {
  return defineModule({
    name: webhookVerificationName,
    schemaName: "EndpointWebhookValidation",
    on: ["https_route"],
    doc: "Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then forwards it unchanged. The edge answers the provider's test requests.",
    acts: { request: ["refuse", "answer"] },
    fields: {
      provider: f.string("The webhook provider.", { required: true, format: providerName }),
      secret: f.string(
        "Secret that you share with the provider; for SendGrid its public key. Required for all providers except AWS SNS.",
        {
          secret: true,
          maxBytes: 4096,
        },
      ),
      ...webhookDemands,
    },
    rules: [
      (config) => findDemandIssue(providerNamed(config.provider) ?? config.provider, demandsOf(config)),
      ({ provider, secret }) => {
        const message = secretIssue(providerNamed(provider) ?? provider, secret);
        return message === undefined ? undefined : { path: "secret", message };
      },
    ],
    compile(config, scope) {
      const provider = providerNamed(config.provider);
      if (provider === undefined) throw new Error(`find webhook provider "${config.provider}": it does not exist`);
      const { secret } = config;
      // Also checks configurations that an earlier version stored, because anyone can sign with an empty key.
      const wrong = secretIssue(provider, secret);
      if (wrong !== undefined) throw new Error(`verify webhooks of ${provider}: the secret ${wrong}`);
      const { webhookMaxBytes: maxBytes } = settings;
      const { clock, ownerId } = scope;
      const taken = keepTakenWebhooks(settings, `webhooks received by ${ownerId}`, (key, make) =>
        scope.keep(key, make),
      );
      const check = webhookCheck(provider, secret, { maxBytes, demands: demandsOf(config), taken, clock });
      return {
        signsAnew: (message, now) => signAnew(provider, secret, message, now),
        request: (exchange) => check(exchange, false),
        rehearse: (exchange) => check(exchange, true),
        ...(taken && {
          settled: (exchange: Exchange, status: number | undefined) => taken.settle(exchange, status, clock.now()),
        }),
      };
    },
  });
}

export const webhookVerification = webhookVerificationWith(defaultsOf(webhookSettings));
