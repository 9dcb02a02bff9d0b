import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const tunnelSession = defineResource({
  name: "tunnel_session",
  schemaName: "TunnelSession",
  path: "/tunnel_sessions",
  listKey: "tunnel_sessions",
  idPrefix: "ts",
  doc: "A connected agent.",
  fields: {
    agent_version: f.string("Version that the agent reports."),
    credential: f.ref("The agent token of the session.", { to: "credential", input: "credential" }),
    ip: f.string("Source address of the connection."),
    metadata: f.string("Metadata from the agent's configuration.", { maxBytes: 4096 }),
    os: f.string("Operating system that the agent reports."),
    region: f.string("Region of the session."),
    started_at: f.timestamp("Start time of the session."),
    transport: f.string("Protocol of the session."),
  },
  operations: ["get", "list"],
  live: true,
});
