import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const tunnel = defineResource({
  name: "tunnel",
  schemaName: "Tunnel",
  path: "/tunnels",
  listKey: "tunnels",
  idPrefix: "tn",
  doc: "An online tunnel: an agent's own endpoint, or a backend tunnel with labels.",
  fields: {
    public_url: f.string('URL of the public endpoint; "" for a backend tunnel.', { maxBytes: 2048 }),
    started_at: f.timestamp("Time when the tunnel came online."),
    metadata: f.string("Metadata from the agent's configuration.", { maxBytes: 4096 }),
    proto: f.oneOf('Protocol of the public endpoint; "" for a backend tunnel.', ["", "http", "https", "tcp", "tls"], {
      default: "",
    }),
    region: f.string("Region of the tunnel."),
    tunnel_session: f.ref("The session of the tunnel.", { to: "tunnel_session", input: "tunnel_session" }),
    endpoint: f.ref("The tunnel's endpoint; null for a backend tunnel.", { to: "endpoint", input: "endpoint" }),
    labels: f.map("Labels that backends match against.", f.string("The label's value.")),
    backends: f.refList(
      "All tunnel group backends that the tunnel serves.",
      { to: "tunnel_group_backend", input: "backends" },
      { live: true },
    ),
    forwards_to: f.string("Upstream address to which the agent forwards.", { maxBytes: 2048 }),
  },
  operations: ["get", "list"],
  live: true,
});
