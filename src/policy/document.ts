/** A traffic policy as it is written: whether this server can put it into effect, and all that is wrong with it. */
import type { RefusalName } from "../lib/errors.ts";
import { policyErrors } from "../lib/errors/policies.ts";
import type { Issue, StringFormat } from "../schema/fields.ts";
import type { Layer } from "./language/action.ts";
import { surveyPolicy } from "./survey.ts";

/** What a policy may be refused with. */
export const policyRefusals = (Object.keys(policyErrors) as (keyof typeof policyErrors)[]).filter(
  (name) => policyErrors[name].status === 400 && !name.startsWith("agent_"),
) as readonly RefusalName[];
/** Bytes of a policy. */
export const maxPolicyBytes = 65_536;
/** Of fields that hold a policy; what is wrong with one, rules say, which know what it stands on. */
export const policyText: StringFormat = {
  name: "traffic-policy",
  // The older name of the phase, which every place has.
  example: "inbound:\n  - actions:\n      - type: deny",
  check: () => undefined,
};
/** Of what is wrong, as much as one answer says. */
const maxTold = 5;

/** What is wrong with a phase that acts on connections, where a policy stands on something that has none of its own. */
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

/** What has nothing behind its policy: the policy must be certain to answer. */
export function endpointPolicyIssue(text: string, layer: Layer, field: string): Issue | undefined {
  const issue = policyIssue(text, layer, field);
  if (issue) return issue;
  if (surveyPolicy(text, layer).isCertainToEnd) return undefined;
  const message = "must have a rule without expressions that answers, denies, redirects or forwards every request";
  return { path: field, message, reason: "policy_answers_nothing" };
}

/** Whether rules of a TLS edge's policy, which has no issues, may end TLS. */
export function policyEndsTls(text: string): boolean {
  return surveyPolicy(text, "tls").endsTls;
}

/** What is wrong with the policy that `field` holds: the first thing's code, and the first few in words. */
export function policyIssue(text: string, layer: Layer, field: string): Issue | undefined {
  const { issues } = surveyPolicy(text, layer);
  const [first] = issues;
  if (!first) return undefined;
  const told = issues.slice(0, maxTold).map(({ path, message }) => (path === "" ? message : `${path} ${message}`));
  const more = issues.length > maxTold ? [`and ${issues.length - maxTold} more`] : [];
  return { path: field, message: [...told, ...more].join("\n"), reason: first.reason };
}

/** What is probably not meant in the policy that `field` holds; nothing for one that cannot be put into effect. */
export function policyDoubts(text: string, layer: Layer, field: string): readonly Issue[] {
  const { issues, warnings } = surveyPolicy(text, layer);
  if (issues.length > 0) return [];
  return warnings.map(({ path, message }) => ({ path: field, message: `${path} ${message}` }));
}
