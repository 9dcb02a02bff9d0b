import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { parseCidr, readAddress } from "../../lib/address.ts";
import type { Network } from "../../lib/address.ts";
import { f } from "../../schema/fields.ts";
import type { IpPolicyVerdicts } from "../../traffic/parts/compiled-ip-policy.ts";
import { breakWith, defineAction, makeDone, endWith } from "../language/action.ts";
import type { ActionOutcome, ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { networkText } from "../language/policy-formats.ts";
import { enforceField } from "../language/enforce-field.ts";
import { isInNetwork } from "../functions/address-functions.ts";
import type { Template } from "../language/template.ts";

const network = f.string("A network; can contain `${…}`.", { minBytes: 1, maxBytes: 1024, format: networkText });
const words = new Uint32Array(4);

export const restrictIps = defineAction({
  type: "restrict-ips",
  phases: ["on_tcp_connect", "on_http_request", "on_http_response"],
  doc: "Allows a client whose address is in an allowed network and in no denied network.",
  config: {
    enforce: enforceField,
    allow: f.list("Allowed networks.", network, { maxItems: 100 }),
    deny: f.list("Denied networks.", network, { maxItems: 100 }),
    ip_policies: f.list("Ids of IP policies.", f.string("An id.", { minBytes: 1, maxBytes: 64 }), { maxItems: 100 }),
  },
  rules: [
    ({ allow, deny, ip_policies }) =>
      allow.length + deny.length + ip_policies.length > 0
        ? undefined
        : { path: "allow", message: "must not be empty while deny and ip_policies are", reason: "policy_value_empty" },
    ({ ip_policies }) => {
      const at = ip_policies.findIndex((id) => !/^ipp_[0-9A-Za-z]{1,60}$/.test(id));
      if (at < 0) return undefined;
      const message = "must be the id of an IP policy, such as ipp_…";
      return { path: `ip_policies[${at}]`, message, reason: "policy_ip_policy_unknown" };
    },
  ],
  terminating: "may",
  results: { name: "restrict_ips", fields: { action: types.string, matched_cidr: types.string } },
  compile({ enforce, allow, deny, ip_policies: ids }, scope) {
    if (allow.length + ids.length === 0) {
      const hint = "allow: ['0.0.0.0/0', '::/0'] allows all others";
      scope.doubtful("deny", `allows no address: an address must also be in an allowed network; ${hint}`);
    }
    const allowed = compileNetworks(allow, "allow", scope);
    const denied = compileNetworks(deny, "deny", scope);
    const refusal: ActionOutcome["end"] =
      scope.phase === "on_tcp_connect" ? { by: "close" } : { by: "refusal", answer: { error: "source_denied" } };
    const verdict = (action: "allow" | "deny", cidr: string): ActionOutcome => {
      const result = { action, matched_cidr: cidr };
      const reason = `${action === "allow" ? "allowed" : "denied"} by ${cidr === "" ? "no network" : cidr}`;
      return action === "deny" && enforce ? endWith(reason, refusal, result) : makeDone(reason, result);
    };
    return {
      attach: (place): readonly IpPolicyVerdicts[] => ids.map((id) => place.ipPolicy(id)),
      run(context, state) {
        const { source } = context.connection;
        const policies = state as readonly IpPolicyVerdicts[];
        const against = firstOf(denied, source, context);
        if (against instanceof CelFailure) return breakWith(against);
        const inPolicy = byPolicies(policies, source);
        if (against !== undefined) return verdict("deny", against);
        if (inPolicy?.outcome === "denied") return verdict("deny", inPolicy.cidr);
        const by = firstOf(allowed, source, context);
        if (by instanceof CelFailure) return breakWith(by);
        if (by !== undefined) return verdict("allow", by);
        return inPolicy ? verdict("allow", inPolicy.cidr) : verdict("deny", "");
      },
    };
  },
});

type Networks = readonly { readonly fixed: Network | undefined; readonly template: Template }[];

function compileNetworks(texts: readonly string[], field: string, scope: ActionScope): Networks {
  return texts.map((text, index) => {
    const template = scope.template(text, `${field}[${index}]`);
    const { constant } = template;
    if (constant === undefined) return { fixed: undefined, template };
    return { fixed: parseCidr(constant), template };
  });
}

/** Maximum networks of one value. */
const maxNetworks = 1000;
/** Steps to parse one network. */
const networkSteps = 4;

/**
 * Returns the first network that contains the address. An interpolated value is a list of networks, or a text of
 * several separated by commas or blanks. Returns a failure if one of them is not a network, because an omitted network
 * could match.
 */
function firstOf(networks: Networks, source: string, context: PolicyContext): string | CelFailure | undefined {
  let found: string | undefined;
  for (const { fixed, template } of networks) {
    if (fixed) {
      if (found === undefined && isInNetwork(source, fixed)) found = fixed.text;
      continue;
    }
    const given = networksIn(template.value(context), context);
    if (given instanceof CelFailure) return given;
    for (const text of given) {
      const one = text.length > 64 ? undefined : parseCidr(text);
      if (!one) return new CelFailure("a network is invalid, or has bits set beyond its mask");
      if (found === undefined && isInNetwork(source, one)) found = one.text;
    }
  }
  return found;
}

function networksIn(value: Result, context: PolicyContext): readonly string[] | CelFailure {
  if (value instanceof CelFailure) return value;
  const items: readonly Value[] = Array.isArray(value) ? (value as readonly Value[]) : [value];
  const texts: string[] = [];
  for (const item of items) {
    if (typeof item !== "string") return new CelFailure("networks must be texts, or a list of texts");
    const spent = context.spendText(4 * item.length) ?? context.spend(1);
    if (spent) return spent;
    texts.push(...item.trim().split(/[\s,]+/, maxNetworks + 1));
    if (texts.length > maxNetworks) return new CelFailure(`there are more than ${maxNetworks} networks`, true);
  }
  return context.spend(networkSteps * texts.length) ?? texts;
}

function byPolicies(policies: readonly IpPolicyVerdicts[], source: string) {
  const family = readAddress(source, words);
  if (family === 0) return undefined;
  for (const { denies } of policies) {
    const step = denies.find(family, words);
    if (step) return { outcome: step.outcome, cidr: cidrOf(step.reason) };
  }
  for (const { allows } of policies) {
    const step = allows.find(family, words);
    if (step) return { outcome: step.outcome, cidr: cidrOf(step.reason) };
  }
  return undefined;
}

/** Parses reasons such as "allowed by rule ipr_…, 192.0.2.0/24". */
function cidrOf(reason: string): string {
  return reason.slice(reason.lastIndexOf(" ") + 1);
}
