import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { keepTakenWebhooks, webhookCheck } from "../../traffic/parts/webhook-check.ts";
import type { TakenWebhooks, WebhookCheck } from "../../traffic/parts/webhook-check.ts";
import { demandsOf, webhookDemands } from "../../traffic/parts/webhook-fields.ts";
import type { Step } from "../../traffic/step.ts";
import { providerNamed, providers } from "../../webhooks/webhook-providers.ts";
import { findDemandIssue } from "../../webhooks/webhook-demands.ts";
import { secretIssue } from "../../webhooks/secret-formats.ts";
import { breakWith, defineAction, makeDone, endWith, policyErrorCode, skipAction } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import type { PolicyContext, PolicyPlace } from "../language/policy-context.ts";
import { enforceField } from "../language/enforce-field.ts";

interface Attached {
  readonly place: PolicyPlace;
  readonly taken: TakenWebhooks | undefined;
  /** Defined if the secret is the same for every request. */
  readonly fixed: WebhookCheck | undefined;
}

export const verifyWebhook = defineAction({
  type: "verify-webhook",
  alias: "webhook-validation",
  phases: ["on_http_request"],
  doc: "Accepts only webhooks with a valid signature, and answers the provider's tests. The server holds the body until the signature is verified.",
  config: {
    provider: f.string("The webhook provider.", { required: true, maxBytes: 64 }),
    secret: f.string(
      "Secret that you share with the provider; can contain `${…}`. Ignored for SNS, which signs with a certificate.",
      { maxBytes: 4096, secret: true },
    ),
    ...webhookDemands,
    enforce: enforceField,
  },
  terminating: "may",
  results: { name: "verify_webhook", fields: { verified: types.bool } },
  compile(config, scope) {
    const { provider: given, secret, enforce } = config;
    const provider = providerNamed(given);
    if (provider === undefined) {
      scope.wrong("provider", `must be one of ${Object.keys(providers).join(", ")}`, "policy_webhook_provider_unknown");
      return { run: () => skipAction("no provider") };
    }
    const demands = demandsOf(config);
    const unfit = findDemandIssue(provider, demands);
    if (unfit) scope.wrong(unfit.path, unfit.message, "policy_value_refused");
    if (provider === "sns" && secret !== "") scope.doubtful("secret", "is ignored: SNS signs with a certificate");
    const template = scope.template(provider === "sns" ? "" : secret, "secret");
    const issue = template.constant === undefined ? undefined : secretIssue(provider, template.constant);
    if (issue !== undefined) {
      scope.wrong("secret", issue, template.constant === "" ? "policy_webhook_secret_missing" : undefined);
    }
    const verdict = (step: Step): ActionOutcome => {
      const { outcome, reason, answer } = step;
      if (outcome === "passed") return makeDone(reason, { verified: true });
      if (outcome === "skipped") return skipAction(reason);
      if (outcome === "answered" && answer) return endWith(reason, { by: "answer", answer }, { verified: true });
      const error = answer && "error" in answer ? answer.error : "webhook_unverified";
      const result = { verified: false, error: { code: policyErrorCode(error), message: reason } };
      return enforce
        ? endWith(reason, { by: "refusal", answer: answer ?? { error } }, result)
        : makeDone(reason, result);
    };
    const checkWith = (text: string, { place, taken }: Pick<Attached, "place" | "taken">): WebhookCheck =>
      webhookCheck(provider, text, { maxBytes: place.services.webhookBytes, demands, taken, clock: place.clock });
    const checkFor = (context: PolicyContext, attached: Attached): WebhookCheck | CelFailure => {
      if (attached.fixed) return attached.fixed;
      const text = template.text(context);
      if (text instanceof CelFailure) return text;
      const wrong = secretIssue(provider, text);
      return wrong === undefined ? checkWith(text, attached) : new CelFailure(`the secret ${wrong}`);
    };
    const decide = (
      context: PolicyContext,
      state: unknown,
      isRehearsal: boolean,
    ): ActionOutcome | Promise<ActionOutcome> => {
      const check = checkFor(context, state as Attached);
      if (check instanceof CelFailure) return breakWith(check);
      return check(context.exchange as Exchange, isRehearsal).then(verdict);
    };
    return {
      attach(place): Attached {
        const taken = keepTakenWebhooks(place.services, `webhooks received from ${provider}`, (key, make) =>
          place.keep(key, make),
        );
        const { constant } = template;
        return { place, taken, fixed: constant === undefined ? undefined : checkWith(constant, { place, taken }) };
      },
      run: (context, state) => decide(context, state, false),
      rehearse: (context, state) => decide(context, state, true),
      settled(exchange, status, state) {
        const { taken, place } = state as Attached;
        taken?.settle(exchange, status, place.clock.now());
      },
    };
  },
});
