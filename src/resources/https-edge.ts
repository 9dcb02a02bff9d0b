import { f, notes } from "../schema/fields.ts";
import { hostport } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

/** Hostports that an edge of any kind serves; one hostport has one holder on the whole server. */
export const hostportsField = f.list(
  "Hostports served by the edge; the port is the advertised one.",
  f.string("A host name (or `*.` and one) and a port.", { format: hostport }),
  { maxItems: 100, unique: true },
);

export function hostportClaims({ hostports }: { readonly hostports: readonly string[] }) {
  return hostports.map((name) => ({ space: "hostport", name, global: true }));
}

/** The names that hostports are reserved by. */
export function hostportUses({ hostports }: { readonly hostports: readonly string[] }) {
  return hostports.map((hostport) => ({ space: "domain", name: hostport.slice(0, hostport.lastIndexOf(":")) }));
}

export const httpsEdge = defineResource({
  name: "https_edge",
  schemaName: "HTTPSEdge",
  path: "/edges/https",
  listKey: "https_edges",
  idPrefix: "edghts",
  doc: "A public HTTPS endpoint: hostports, TLS settings and a list of routes.",
  fields: {
    ...notes,
    hostports: hostportsField,
    routes: f.children("Routes of the edge.", "https_edge_route"),
  },
  modulesOn: "https_edge",
  traffic: true,
  claims: hostportClaims,
  uses: hostportUses,
  taken: "hostport_held",
  refusals: ["domain_held", "domain_public", "domain_unproven", "domain_unreserved"],
});
