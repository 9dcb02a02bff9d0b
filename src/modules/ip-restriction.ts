import { readAddress } from "../lib/address.ts";
import { f } from "../schema/fields.ts";
import { compilePolicy } from "../traffic/parts/compiled-ip-policy.ts";
import type { IpPolicyVerdicts } from "../traffic/parts/compiled-ip-policy.ts";
import { defineModule } from "../traffic/module.ts";
import type { Scope } from "../traffic/module.ts";
import { denyStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export const ipRestriction = defineModule({
  name: "ip_restriction",
  schemaName: "EndpointIPPolicy",
  on: ["https_route", "tls_edge", "tcp_edge"],
  doc: "Allows a source address only if a rule of the IP policies allows it and no rule denies it.",
  acts: { connection: ["refuse"], request: ["refuse"] },
  fields: {
    ip_policies: f.refList(
      "IP policies used to check whether a source IP is allowed.",
      { to: "ip_policy", input: "ip_policy_ids" },
      { required: true, minItems: 1 },
    ),
  },
  compile({ ip_policy_ids }, scope) {
    const admits = compileAdmission(ip_policy_ids, scope);
    return { connection: admits, request: ({ connection }) => admits(connection.source) };
  },
});

/** Returns a decision function for a source by the rules of all these policies. Throws if a policy is unusable. */
export function compileAdmission(policyIds: readonly string[], scope: Pick<Scope, "shared">): (source: string) => Step {
  const policies = policyIds.map((id) => scope.shared(`ip_policy ${id}`, (look) => compilePolicy(look, id)));
  return (source) => decideAdmission(policies, source);
}

const noPolicy = denyStep("ip_restriction", "source_denied", "no policy can allow the source");
const noAddress = denyStep("ip_restriction", "source_denied", "the source has no address to match");
const words = new Uint32Array(4);

/** One decision for requests and connections (control R4): deny wins, and at least one rule must allow. */
function decideAdmission(policies: readonly IpPolicyVerdicts[], source: string): Step {
  const family = readAddress(source, words);
  if (family === 0) return noAddress;
  let allowed: Step | undefined;
  for (const { denies, allows } of policies) {
    const against = denies.find(family, words);
    if (against) return against;
    allowed ??= allows.find(family, words);
  }
  return allowed ?? policies[0]?.noRule ?? noPolicy;
}
