import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const most = 2 ** 31 - 1;

export const node = defineResource({
  name: "node",
  schemaName: "Node",
  path: "/nodes",
  listKey: "nodes",
  idPrefix: "nd",
  doc: "A server: one, or each of those that share a database.",
  fields: {
    version: f.string("Version of Postern that it runs."),
    region: f.string("Where it stands, as its setting `region` says."),
    api_url: f.string("Where its API is reached."),
    peer_address: f.nullableString("Where the other nodes reach it; null where they do not."),
    started_at: f.timestamp("When it was started."),
    configuration_revision: f.number("The last revision that is in effect there.", {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    agents: f.number("Connected agents.", { min: 0, max: most }),
    connections: f.number("Open connections of visitors.", { min: 0, max: most }),
    lease: f.oneOf(
      "Whether the others count on it: `none` of a server that shares its database with no others, `over` of one that is cut off or has died.",
      ["none", "held", "over"],
    ),
    renewed_at: f.timestamp(
      "When it last renewed its lease, as the answering node sees it; of one without others, now.",
    ),
  },
  operations: ["get", "list"],
  live: true,
  operatorOnly: true,
});
