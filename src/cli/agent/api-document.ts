/** Converts a tunnel to an equivalent document for `postern plan` and `apply`: an edge with the same modules. */
import { routeModules } from "../../edge/agents/opening/route-modules.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import type { TunnelKind } from "./tunnel-of.ts";

export interface ApiDocument {
  /** Undefined if the address of the edge is unknown. */
  readonly document: JsonObject | undefined;
  /** Settings that the document omits, with the reasons. */
  readonly notes: readonly string[];
}

/** Label by which the edge finds the agent. */
export function labelOf(name: string): string {
  return `service=${name}`;
}

/** @param hostport of the edge; undefined if unknown */
export function apiDocument(
  name: string,
  kind: TunnelKind,
  hostport: string | undefined,
  tunnel: TunnelOptions,
): ApiDocument {
  if (tunnel.publish.kind === "labels") {
    return { document: undefined, notes: ["a tunnel with labels serves edges that exist already"] };
  }
  if (hostport === undefined) {
    return { document: undefined, notes: ["an edge needs a fixed address: set --url"] };
  }
  const notes: string[] = [];
  const { modules, objects, missing } = routeModules(tunnel.options ?? {}, name);
  // A document that admits more visitors than the tunnel would be worse than no document.
  if (missing.length > 0) return { document: undefined, notes: missing };
  const policy = policyOf(tunnel, notes);
  const backend = { backend_id: `${name}-agents` };
  const {
    mutual_tls,
    ip_restriction,
    country_restriction,
    tls_termination = { terminate_at: "upstream" },
    ...rest
  } = modules;
  const ofConnection = { ...omitUndefined({ ip_restriction, country_restriction }), ...policy };
  const edge = { description: name, hostports: [hostport] };
  const groups = { tunnel_group_backend: { [`${name}-agents`]: { description: name, labels: { service: name } } } };
  const edges =
    kind === "http"
      ? {
          https_edge: { [name]: { ...edge, ...omitUndefined({ mutual_tls }) } },
          https_edge_route: {
            [`${name}-all`]: {
              edge_id: name,
              match_type: "path_prefix",
              match: "/",
              backend,
              ...ofConnection,
              ...rest,
            },
          },
        }
      : {
          [`${kind}_edge`]: {
            [name]: {
              ...edge,
              backend,
              ...ofConnection,
              ...omitUndefined({ mutual_tls, tls_termination: kind === "tls" ? tls_termination : undefined }),
            },
          },
        };
  return { document: { document: name, objects: { ...groups, ...objects, ...edges } }, notes };
}

function omitUndefined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** In documents, basic authentication is a policy action, placed before the policy's own actions. */
function policyOf({ options = {}, trafficPolicy }: TunnelOptions, notes: string[]): object {
  const { credentials = [] } = (options["BasicAuth"] ?? {}) as {
    readonly credentials?: readonly { readonly username: string; readonly cleartext_password: string }[];
  };
  if (credentials.length === 0) return trafficPolicy === undefined ? {} : { traffic_policy: { value: trafficPolicy } };
  const pairs = credentials.map(({ username, cleartext_password: password }) => ({ username, password }));
  const rule = { actions: [{ type: "basic-auth", config: { credentials: pairs } }] };
  const given = trafficPolicy === undefined ? {} : parseYamlObject(trafficPolicy);
  const rules = Array.isArray(given["on_http_request"]) ? (given["on_http_request"] as readonly unknown[]) : [];
  if (rules.length > 0) notes.push("basic authentication is the first rule of the traffic policy");
  return { traffic_policy: { value: JSON.stringify({ ...given, on_http_request: [rule, ...rules] }) } };
}
