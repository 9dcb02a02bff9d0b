import { types } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import { f } from "../../schema/fields.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { webhookCheck } from "../../traffic/parts/webhook-check.ts";
import type { Step } from "../../traffic/step.ts";
import { providerNamed, providers } from "../../webhooks/providers.ts";
import { secretIssue } from "../../webhooks/secrets.ts";
import { brokenAction, defineAction, done, endedBy, policyErrorCode, skippedAction } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import type { PolicyContext, PolicyPlace } from "../language/context.ts";
import { enforceField } from "../language/enforce.ts";

type Check = (exchange: Exchange, isRehearsal: boolean) => Step | Promise<Step>;

export const verifyWebhook = defineAction({
  type: "verify-webhook",
  phases: ["on_http_request"],
  doc: "Lets only webhooks pass whose signature verifies; tests of the endpoint are answered. The body is held until then.",
  config: {
    provider: f.string("The provider that sends.", { required: true, maxBytes: 64 }),
    secret: f.string("Secret shared with it; may hold `${…}`.", { maxBytes: 4096, secret: true }),
    enforce: enforceField,
  },
  terminating: "may",
  results: { name: "verify_webhook", fields: { verified: types.bool } },
  compile({ provider: given, secret, enforce }, scope) {
    const provider = providerNamed(given);
    if (provider === undefined) {
      scope.wrong("provider", `must be one of ${Object.keys(providers).join(", ")}`, "policy_webhook_provider_unknown");
      return { run: () => skippedAction("no provider") };
    }
    const template = scope.template(secret, "secret");
    const issue = template.constant === undefined ? undefined : secretIssue(provider, template.constant);
    if (issue !== undefined) {
      scope.wrong("secret", issue, template.constant === "" ? "policy_webhook_secret_missing" : undefined);
    }
    const verdict = (step: Step): ActionOutcome => {
      const { outcome, reason, answer } = step;
      if (outcome === "passed") return done(reason, { verified: true });
      if (outcome === "skipped") return skippedAction(reason);
      if (outcome === "answered" && answer) return endedBy(reason, { by: "refusal", answer }, { verified: true });
      const error = answer && "error" in answer ? answer.error : "webhook_unverified";
      const result = { verified: false, error: { code: policyErrorCode(error), message: reason } };
      return enforce ? endedBy(reason, { by: "refusal", answer: answer ?? { error } }, result) : done(reason, result);
    };
    /** Checks for the secrets that values have given, the last one kept. */
    const checkFor = (context: PolicyContext, place: PolicyPlace, fixed: Check | undefined): Check | Failure => {
      if (fixed) return fixed;
      const text = template.text(context);
      if (text instanceof Failure) return text;
      const wrong = secretIssue(provider, text);
      return wrong === undefined ? checkWith(provider, text, place) : new Failure(`the secret ${wrong}`);
    };
    const decide = (
      context: PolicyContext,
      state: unknown,
      isRehearsal: boolean,
    ): ActionOutcome | Promise<ActionOutcome> => {
      const { place, fixed } = state as { place: PolicyPlace; fixed: Check | undefined };
      const check = checkFor(context, place, fixed);
      if (check instanceof Failure) return brokenAction("policy_interpolation_failed", check.message);
      const step = check(context.exchange as Exchange, isRehearsal);
      return step instanceof Promise ? step.then(verdict) : verdict(step);
    };
    return {
      attach: (place) => ({
        place,
        fixed: template.constant === undefined ? undefined : checkWith(provider, template.constant, place),
      }),
      run: (context, state) => decide(context, state, false),
      rehearse: (context, state) => decide(context, state, true),
    };
  },
});

function checkWith(provider: string, secret: string, place: PolicyPlace): Check {
  const settings = { webhookMaxBytes: place.services.webhookBytes, webhookRefuseReplays: false };
  const hooks = webhookCheck(provider, secret, settings, place);
  return (exchange, isRehearsal) => {
    const hook = isRehearsal ? hooks.rehearse : hooks.request;
    return (hook as Required<typeof hooks>["request"])(exchange);
  };
}
