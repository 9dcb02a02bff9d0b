/** Validates the text of a traffic policy: whether this server can apply it, and everything that is wrong with it. */
import type { RefusalName } from "../lib/errors.ts";
import { policyErrors } from "../lib/errors/policies.ts";
import type { Issue, StringFormat } from "../schema/fields.ts";
import type { Layer } from "./language/action.ts";
import { applies } from "./server-data.ts";
import { surveyPolicy } from "./survey.ts";

/** Codes with which a policy can be rejected. */
export const policyRefusals = (Object.keys(policyErrors) as (keyof typeof policyErrors)[]).filter(
  (name) => policyErrors[name].status === 400 && !name.startsWith("agent_"),
) as readonly RefusalName[];
/** Maximum size of a policy, bytes. */
export const maxPolicyBytes = 65_536;
/** Format of fields that hold a policy. Rules report its issues, because they know where the policy applies. */
export const policyText: StringFormat = {
  name: "traffic-policy",
  // The older name of the phase, which is valid everywhere.
  example: "inbound:\n  - actions:\n      - type: deny",
  check: () => undefined,
};
/** Maximum issues in one response. */
const maxTold = 5;

/**
 * Returns the issue if a phase acts on connections, but the policy belongs to an object without separate connections.
 */
export function connectPhaseIssue(
  text: string,
  field: string,
  reason: "policy_connect_phase_refused" | "policy_connect_phase_internal",
): Issue | undefined {
  if (!surveyPolicy(text, "http").hasConnectPhase) return undefined;
  return {
    path: field,
    message: "on_tcp_connect acts on connections, which it does not have: use on_http_request",
    reason,
  };
}

/** Returns the issue if the policy may not produce a response, for an endpoint without anything behind its policy. */
export function endpointPolicyIssue(text: string, layer: Layer, field: string): Issue | undefined {
  const issue = policyIssue(text, layer, field);
  if (issue) return issue;
  if (surveyPolicy(text, layer).isCertainToEnd) return undefined;
  const message = "must have a rule without expressions that answers, denies, redirects or forwards every request";
  return { path: field, message, reason: "policy_answers_nothing" };
}

/** Whether rules of a TLS edge's policy without issues may terminate TLS. */
export function policyEndsTls(text: string): boolean {
  return surveyPolicy(text, "tls").endsTls;
}

/** Returns the issue of the policy in `field`: the code of the first error, and the messages of the first few. */
export function policyIssue(text: string, layer: Layer, field: string): Issue | undefined {
  const { issues } = surveyPolicy(text, layer);
  const [first] = issues;
  if (!first) return undefined;
  const told = issues.slice(0, maxTold).map(({ path, message }) => (path === "" ? message : `${path} ${message}`));
  const more = issues.length > maxTold ? [`and ${issues.length - maxTold} more`] : [];
  return { path: field, message: [...told, ...more].join("\n"), reason: first.reason };
}

/** Returns warnings for the policy in `field`. Returns none for an invalid policy. */
export function policyDoubts(text: string, layer: Layer, field: string): readonly Issue[] {
  const { issues, warnings } = surveyPolicy(text, layer);
  if (issues.length > 0) return [];
  return warnings
    .filter((one) => applies(one))
    .map(({ path, message }) => ({ path: field, message: `${path} ${message}` }));
}
