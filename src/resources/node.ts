import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const most = 2 ** 31 - 1;

export const node = defineResource({
  name: "node",
  schemaName: "Node",
  path: "/nodes",
  listKey: "nodes",
  idPrefix: "nd",
  doc: "A running server, alone or one of several with the same database.",
  fields: {
    version: f.string("Postern version of the server."),
    region: f.string("Region of the server, from its setting `region`."),
    api_url: f.string("URL of the server's API."),
    peer_address: f.nullableString("Address for other nodes; null if they do not connect to this node."),
    started_at: f.timestamp("Start time of the server."),
    configuration_revision: f.number("The last revision that the server has applied.", {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    agents: f.number("Connected agents.", { min: 0, max: most }),
    connections: f.number("Open connections of visitors.", { min: 0, max: most }),
    lease: f.oneOf(
      "State of the node's lease: `none` for a server that does not share its database, `over` for a server that is disconnected or has failed.",
      ["none", "held", "over"],
    ),
    renewed_at: f.timestamp(
      "Time of the last lease renewal, as seen by the answering node; for a single server, the current time.",
    ),
  },
  operations: ["get", "list"],
  live: true,
  operatorOnly: true,
});
