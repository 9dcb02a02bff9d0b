import { notes } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { policyEndsTls, policyRefusals } from "../policy/policy-document.ts";
import { defineResource } from "../schema/resource.ts";
import { hostportClaims, hostportRefusals, hostportsField, hostportUses } from "./hostports.ts";

export const tlsEdge = defineResource({
  name: "tls_edge",
  schemaName: "TLSEdge",
  path: "/edges/tls",
  listKey: "tls_edges",
  idPrefix: "edgtls",
  doc: "A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through.",
  fields: { ...notes, hostports: hostportsField },
  modulesOn: "tls_edge",
  traffic: true,
  claims: hostportClaims,
  uses: hostportUses,
  taken: "hostport_held",
  refusals: [...hostportRefusals, "module_needs_termination", "backend_needs_http", ...policyRefusals],
  rules: [passthroughHasNoClientCertificates, requireOneTlsEnd],
});

/** The rule would require less of the handshake than the edge's modules do. */
function requireOneTlsEnd(doc: Readonly<Record<string, unknown>>): Issue | undefined {
  const policy = doc["traffic_policy"] as { readonly value?: string } | null | undefined;
  const termination = doc["tls_termination"] as { readonly min_version?: string | null } | null | undefined;
  const other = doc["mutual_tls"] ? "mutual_tls" : termination?.min_version && "tls_termination.min_version";
  if (!other || typeof policy?.value !== "string" || !policyEndsTls(policy.value)) return undefined;
  const message = `must not end TLS by terminate-tls while ${other} is set: configure the action instead, and remove it`;
  return { path: "traffic_policy", message, reason: "policy_action_protocol" };
}

/** Client certificates are visible only in the handshake, which takes place elsewhere. */
function passthroughHasNoClientCertificates(doc: Readonly<Record<string, unknown>>): Issue | undefined {
  const termination = doc["tls_termination"] as { readonly terminate_at?: string } | null | undefined;
  if (!termination || termination.terminate_at === "edge" || !doc["mutual_tls"]) return undefined;
  const message = `must not be set while tls_termination.terminate_at is ${termination.terminate_at}: it needs the handshake`;
  return { path: "mutual_tls", message, reason: "module_needs_termination" };
}
