import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { providerNamed, providers } from "../webhooks/providers.ts";
import { ecdsaPublicKey } from "../webhooks/special.ts";
import { defineModule } from "../traffic/module.ts";
import { defaultWebhookSettings, webhookCheck, webhookVerificationName } from "../traffic/parts/webhook-check.ts";
import type { WebhookSettings } from "../traffic/parts/webhook-check.ts";

const providerName: StringFormat = {
  name: "webhook-provider",
  example: "github",
  check: (text) =>
    providerNamed(text) === undefined ? `be one of ${Object.keys(providers).join(", ")}, in any case` : undefined,
};

/** Providers whose key is no text: it is given as base64. */
const base64Keys = new Set(["brex", "clerk", "svix", "microsoft_teams"]);

/** The module, as the operator has set it. */
export function webhookVerificationWith(settings: WebhookSettings) {
  return defineModule({
    name: webhookVerificationName,
    schemaName: "EndpointWebhookValidation",
    on: ["https_route"],
    doc: "Lets only webhooks pass whose signature verifies. The body is held back until then and passed on unchanged; requests by which a provider tests the endpoint are answered at the edge.",
    acts: { request: ["refuse", "answer"] },
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
    compile(config, scope) {
      const provider = providerNamed(config.provider);
      if (provider === undefined) throw new Error(`find webhook provider "${config.provider}": it does not exist`);
      const { secret } = config;
      if (secret === "" && provider !== "sns") throw new Error(`verify webhooks of ${provider}: there is no secret`);
      if (provider === "sendgrid") ecdsaPublicKey(secret);
      return webhookCheck(provider, secret, settings, scope);
    },
  });
}

export const webhookVerification = webhookVerificationWith(defaultWebhookSettings);

function isEcdsaKey(text: string): boolean {
  try {
    ecdsaPublicKey(text);
    return true;
  } catch {
    return false;
  }
}
