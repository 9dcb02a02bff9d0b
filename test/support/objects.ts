/** Configuration as an edge receives it: the objects for tests of routing and traffic. */
import { fingerprintToken, hashToken, newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import type { ResourceObject } from "../../src/schema/object.ts";

const account = "ac_1";

function object(kind: string, id: string, doc: Record<string, unknown>): ResourceObject {
  return { kind, id, account_id: account, revision: 1, doc };
}

/** Returns an agent token and its credential. */
export function newCredential(id = "cr_1"): { readonly token: string; readonly object: ResourceObject } {
  const token = newToken(tokenPrefixes.agent);
  const doc = {
    fingerprint: fingerprintToken(token),
    token_hash: hashToken(token).toString("hex"),
    acl: [],
    owner_id: null,
  };
  return { token, object: object("credential", id, doc) };
}

/** Returns an HTTPS edge for `hosts` with one route for every path, to the tunnels with the label `app=ID`. */
export function httpsEdge(
  id: string,
  hosts: readonly string[],
  blocks: Readonly<Record<string, unknown>> = {},
): ResourceObject[] {
  const edge = { hostports: hosts.map((host) => `${host}:443`), mutual_tls: null, tls_termination: null, ...blocks };
  const backend = { enabled: true, backend_id: `bkdtg_${id}` };
  return [
    object("tunnel_group_backend", `bkdtg_${id}`, { labels: { app: id } }),
    object("https_edge", `edghts_${id}`, edge),
    object("https_edge_route", `edghtsrt_${id}`, {
      edge_id: `edghts_${id}`,
      match_type: "path_prefix",
      match: "/",
      backend,
    }),
  ];
}

/** Returns a TCP or TLS edge whose backend is the tunnels with the label `app=ID`. */
export function connectionEdge(
  kind: "tcp_edge" | "tls_edge",
  id: string,
  hostports: readonly string[],
  blocks: Readonly<Record<string, unknown>> = {},
): ResourceObject[] {
  const backend = { enabled: true, backend_id: `bkdtg_${id}` };
  return [
    object("tunnel_group_backend", `bkdtg_${id}`, { labels: { app: id } }),
    object(kind, `edg_${id}`, { hostports, backend, ...blocks }),
  ];
}

/** Returns an IP policy with these rules. */
export function ipPolicy(id: string, rules: Readonly<Record<string, "allow" | "deny">>): ResourceObject[] {
  return [
    object("ip_policy", id, {}),
    ...Object.entries(rules).map(([cidr, action], index) =>
      object("ip_policy_rule", `ipr_${id}_${index}`, { ip_policy_id: id, cidr, action }),
    ),
  ];
}

/** Returns the module that admits the addresses that the policy allows. */
export function ipRestriction(policyId: string) {
  return { enabled: true, ip_policy_ids: [policyId] };
}

export function certificateAuthority(id: string, pem: string): ResourceObject {
  return object("certificate_authority", id, { ca_pem: pem });
}
