import { internalNameDemand, isInternalName } from "../lib/internal-names.ts";
import { concealedPolicy } from "../policy/concealed-policy.ts";
import {
  connectPhaseIssue,
  endpointPolicyIssue,
  maxPolicyBytes,
  policyDoubts,
  policyRefusals,
  policyText,
} from "../policy/policy-document.ts";
import { f, notes } from "../schema/fields.ts";
import type { Field, Issue } from "../schema/fields.ts";
import { endpointUrl, parseEndpointUrl, splitHostport } from "../schema/endpoint-url.ts";
import { defineResource } from "../schema/resource.ts";
import { captureField } from "./capture.ts";
import { servedFields } from "./endpoint.ts";
import { hostportRefusals, hostportUses } from "./hostports.ts";
import { portOf } from "./tcp-edge.ts";

export const cloudEndpoint = defineResource({
  name: "cloud_endpoint",
  schemaName: "CloudEndpoint",
  path: "/endpoints",
  listKey: "endpoints",
  idPrefix: "ep",
  doc: "An endpoint without an agent: a URL and a traffic policy that answers or forwards requests.",
  fields: {
    ...notes,
    url: f.string(
      "The endpoint's URL: `https://HOST`, `tls://HOST` or `tcp://HOST:PORT`. Each URL has one owner on the server.",
      {
        required: true,
        maxBytes: 300,
        format: endpointUrl,
        keepIfEmpty: true,
      },
    ),
    type: f.oneOf("Always `cloud`.", ["cloud"], { required: true, immutable: true }),
    traffic_policy: f.string("The policy, as JSON or YAML, stored unchanged.", {
      required: true,
      maxBytes: maxPolicyBytes,
      sensitive: concealedPolicy,
      format: policyText,
      example: "on_http_request:\n  - actions:\n      - type: deny",
      keepIfEmpty: true,
    }),
    bindings: f.list(
      "Visibility: `public`, or `internal` for policies of the same account. Default: `internal` for hosts below `.internal`, else `public`.",
      f.oneOf("A binding.", bindingNames()),
      {
        minItems: 1,
        maxItems: 3,
        unique: true,
        example: ["public"],
        keepIfEmpty: true,
      },
    ),
    pooling_enabled: f.boolean(
      "Allow several endpoints of the account, including endpoints of agents, with this URL if each has this field. The server chooses one at random for each request or connection.",
    ),
    capture: captureField,
    updated_at: f.timestamp("Time of the last change.", { readOnly: true }),
    ...markLive(servedFields),
  },
  operations: ["create", "update", "delete"],
  traffic: true,
  // Without a server name only the port decides, so it also has only one holder.
  claims({ url, pooling_enabled }) {
    const { scheme, hostport } = parseEndpointUrl(url);
    const shared = { at: "url", ...(pooling_enabled && { sharedAs: `pool of ${scheme}` }) };
    if (isInternalName(splitHostport(hostport).host)) {
      return [{ space: "internal endpoint", name: hostport, ...shared }];
    }
    const claim = { space: "hostport", name: hostport, global: true, ...shared };
    return scheme === "tcp" ? [claim, { ...claim, space: "tcp port", name: portOf(hostport) }] : [claim];
  },
  uses({ url }) {
    const { scheme, hostport } = parseEndpointUrl(url);
    if (isInternalName(hostport.replace(/:\d+$/, ""))) return [];
    return scheme === "tcp" ? [{ space: "address", name: portOf(hostport) }] : hostportUses({ hostports: [hostport] });
  },
  taken: "hostport_held",
  refusals: [
    ...hostportRefusals,
    "port_outside",
    "binding_unsupported",
    "internal_name_demanded",
    "internal_binding_demanded",
    ...policyRefusals,
  ],
  rules: [
    ({ bindings }) => bindingIssue(bindings as readonly string[]),
    ({ url, bindings }) => internalIssue(url, bindings as readonly string[]),
    ({ url, traffic_policy }) => {
      const { hostport } = parseEndpointUrl(url);
      const isInternal = isInternalName(hostport.replace(/:\d+$/, ""));
      const connects =
        isInternal && layerOf(url) === "http"
          ? connectPhaseIssue(traffic_policy, "traffic_policy", "policy_connect_phase_internal")
          : undefined;
      return connects ?? endpointPolicyIssue(traffic_policy, layerOf(url), "traffic_policy");
    },
  ],
  doubts: ({ url, traffic_policy }) => policyDoubts(traffic_policy, layerOf(url), "traffic_policy"),
});

function layerOf(url: string): "http" | "tls" | "tcp" {
  const { scheme } = parseEndpointUrl(url);
  return scheme === "https" ? "http" : scheme;
}

/** Names that the vendor's clients use. */
function bindingNames() {
  return ["public", "internal", "kubernetes"] as const;
}

function bindingIssue(bindings: readonly string[]): Issue | undefined {
  const other = bindings.findIndex((name) => name !== "public" && name !== "internal");
  if (other < 0) return undefined;
  const message = `must be "public" or "internal", is "${bindings[other]}": this server has no other binding`;
  return { path: `bindings[${other}]`, message, reason: "binding_unsupported" };
}

/** Only URLs that end in `.internal` are internal endpoints. */
function internalIssue(url: string, bindings: readonly string[]): Issue | undefined {
  const { scheme, hostport } = parseEndpointUrl(url);
  const isInternal = isInternalName(hostport.replace(/:\d+$/, ""));
  if (bindings.includes("internal") && !isInternal) {
    const message = 'must have a host that ends in ".internal" because the binding is internal';
    return { path: "url", message, reason: "internal_name_demanded" };
  }
  if (!isInternal) return undefined;
  if (bindings.includes("public")) {
    const message = 'must not have "public" because the host ends in ".internal"; omit it, or set "internal"';
    return { path: "bindings", message, reason: "internal_binding_demanded" };
  }
  const { host, port } = splitHostport(hostport);
  const demand = internalNameDemand(host);
  if (demand !== undefined) return { path: "url", message: `must ${demand}` };
  return scheme === "https" && port !== 443
    ? { path: "url", message: "must not have a port other than 443" }
    : undefined;
}

function markLive<const F extends Readonly<Record<string, Field>>>(
  fields: F,
): { readonly [K in keyof F]: F[K] & { readonly live: true } } {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { ...field, live: true }])) as never;
}
