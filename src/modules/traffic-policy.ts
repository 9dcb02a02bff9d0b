import type { Logins } from "../identity/login-engine.ts";
import { makeAskedCodeLogin } from "../identity/asked-code-login.ts";
import { makeAskedSamlLogin } from "../identity/saml-login/asked-saml.ts";
import type { SamlLogins } from "../identity/saml-login/saml-logins.ts";
import type { Layer } from "../policy/language/action.ts";
import { policyModuleName } from "../policy/compile-policy.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { concealedPolicy } from "../policy/concealed-policy.ts";
import type { PolicyServices } from "../policy/language/policy-context.ts";
import { connectPhaseIssue, maxPolicyBytes, policyDoubts, policyIssue, policyText } from "../policy/policy-document.ts";
import { policyHooks } from "../policy/hooks.ts";
import { layersWithSecrets } from "../policy/policy-mentions.ts";
import { prepareShared, compileShared } from "../policy/prepared.ts";
import { runInSequence } from "../lib/slices.ts";
import { f } from "../schema/fields.ts";
import type { ModulePlace } from "../schema/object.ts";
import { defineModule } from "../traffic/module.ts";
import type { Scope } from "../traffic/module.ts";
import { authorityPem } from "../traffic/parts/authority-pem.ts";
import { compilePolicy as compileIpPolicy } from "../traffic/parts/compiled-ip-policy.ts";

/**
 * Returns the module with the server's dependencies. Without `logins` and `saml`, policies that require them are
 * closed.
 */
export function trafficPolicyWith(services: PolicyServices, logins: Logins | undefined, saml: SamlLogins | undefined) {
  return defineModule({
    name: policyModuleName,
    schemaName: "EndpointTrafficPolicy",
    on: ["https_route", "tls_edge", "tcp_edge"],
    doc: "Applies a traffic policy: rules with expressions and actions, by phase.",
    acts: {
      connection: ["refuse"],
      request: ["refuse", "answer", "change the request", "choose the upstream"],
      response: ["change the response", "answer"],
    },
    fields: {
      value: f.string("The policy, as JSON or YAML, stored unchanged.", {
        required: true,
        maxBytes: maxPolicyBytes,
        sensitive: concealedPolicy,
        format: policyText,
      }),
    },
    rules: [
      ({ value }, place) =>
        policyIssue(value, layerOf(place), "value") ??
        (place === "https_route" ? connectPhaseIssue(value, "value", "policy_connect_phase_refused") : undefined),
    ],
    doubts: ({ value }, place) => policyDoubts(value, layerOf(place), "value"),
    prepare({ value }, place) {
      // Policies from agents have not been validated yet.
      if (value.length > maxPolicyBytes) return undefined;
      // Secrets in the policy are resolved for every layer.
      const layers = new Set([layerOf(place), ...layersWithSecrets(value)]);
      const works = [...layers].flatMap((layer) => prepareShared(value, layer) ?? []);
      return works.length === 0 ? undefined : { steps: runInSequence(works), length: value.length };
    },
    compile({ value }, scope, place) {
      const layer = layerOf(place);
      // Owners with the same text share the compiled policy.
      const policy = scope.shared(`${policyModuleName} ${layer} ${value}`, () => compilePolicyText(value, layer));
      if (policy.readsAddresses) services.wantAddresses();
      return policyHooks(policy, {
        policy,
        accountId: scope.accountId,
        ownerId: scope.ownerId,
        endpoint: { id: scope.ownerId, protocol: layer === "http" ? "https" : layer },
        clock: scope.clock,
        services,
        keep: (key, make) => scope.keep(`${policyModuleName} ${scope.ownerId} ${key}`, make),
        ipPolicy: (id) => shareIpPolicy(id, scope),
        authority: (id) => authorityPem(scope, id),
        login(asked) {
          if (!logins || !saml) throw new Error("enforce a login: this server has no support for logins");
          return "idpMetadata" in asked
            ? makeAskedSamlLogin(asked, saml, logins, scope)
            : makeAskedCodeLogin(asked, logins, scope);
        },
      });
    },
  });
}

function compilePolicyText(text: string, layer: Layer): CompiledPolicy {
  const { policy, issues } = compileShared(text, layer);
  const [first] = issues;
  if (first) throw new Error(`compile the policy: ${first.path} ${first.message}`);
  return policy;
}

function shareIpPolicy(id: string, scope: Scope) {
  return scope.shared(`ip_policy ${id}`, (look) => compileIpPolicy(look, id));
}

function layerOf(place: ModulePlace): Layer {
  if (place === "tls_edge") return "tls";
  return place === "tcp_edge" ? "tcp" : "http";
}
