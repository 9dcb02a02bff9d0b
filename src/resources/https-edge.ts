import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { captureField } from "./capture.ts";
import { hostportClaims, hostportRefusals, hostportsField, hostportUses } from "./hostports.ts";

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
    capture: captureField,
    routes: f.children("Routes of the edge.", "https_edge_route"),
  },
  modulesOn: "https_edge",
  traffic: true,
  claims: hostportClaims,
  uses: hostportUses,
  taken: "hostport_held",
  refusals: hostportRefusals,
});
