/** Checks a policy, and evaluates it for a request. It runs in a thread that can be terminated. */
import { errorCode } from "../../lib/errors.ts";
import { compilePolicy } from "../../policy/compile-policy.ts";
import type { Layer } from "../../policy/language/action.ts";
import { applies } from "../../policy/server-data.ts";
import { policyPlaces } from "../../policy/policy-places.ts";
import type { PolicyIssue, PolicyWarning } from "../../policy/policy-issue.ts";
import type { RequestDescription } from "../../routing/planes/edge-questions.ts";
import { explainPolicy } from "./explain-policy.ts";

export interface PolicyCheck {
  readonly text: string;
  readonly layer: Layer;
  readonly request: RequestDescription;
  readonly nowMs: number;
  /** Names of the data about addresses that this server has. */
  readonly data: readonly string[];
}

/** Calls that the thread accepts. */
export const policyCalls = { checkPolicy };
export type PolicyCalls = typeof policyCalls;

/** Returns the body of the response. */
async function checkPolicy({ text, layer, request, nowMs, data }: PolicyCheck): Promise<string> {
  const { policy, issues, warnings } = compilePolicy(text, layer);
  const placeOf = policyPlaces(text);
  const shown = (one: PolicyWarning): object => ({ path: one.path, message: one.message, ...placeOf(one) });
  return JSON.stringify({
    issues: issues.map((one: PolicyIssue) => ({ ...shown(one), error_code: errorCode(one.reason) })),
    warnings: warnings.filter((one) => applies(one, data)).map(shown),
    explanation: issues.length > 0 ? null : await explainPolicy(policy, layer, request, nowMs),
  });
}
