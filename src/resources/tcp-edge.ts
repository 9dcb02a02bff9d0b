import { notes } from "../schema/fields.ts";
import { policyRefusals } from "../policy/policy-document.ts";
import { defineResource } from "../schema/resource.ts";
import { hostportClaims, hostportRefusals, hostportsField } from "./hostports.ts";

export const tcpEdge = defineResource({
  name: "tcp_edge",
  schemaName: "TCPEdge",
  path: "/edges/tcp",
  listKey: "tcp_edges",
  idPrefix: "edgtcp",
  doc: "A public TCP endpoint. Connections to its ports go to one backend.",
  fields: { ...notes, hostports: hostportsField },
  modulesOn: "tcp_edge",
  traffic: true,
  // Without a server name only the port decides, so it also has only one holder.
  claims: (doc) => [
    ...hostportClaims(doc),
    ...doc.hostports.map((hostport, index) => ({
      space: "tcp port",
      name: portOf(hostport),
      global: true,
      at: `hostports[${index}]`,
    })),
  ],
  uses: ({ hostports }) => hostports.map((hostport) => ({ space: "address", name: portOf(hostport) })),
  taken: "hostport_held",
  refusals: [...hostportRefusals, "port_outside", "backend_needs_http", ...policyRefusals],
});

export function portOf(hostport: string): string {
  return hostport.slice(hostport.lastIndexOf(":") + 1);
}
