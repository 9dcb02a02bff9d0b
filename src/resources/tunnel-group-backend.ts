import { f, notes } from "../schema/fields.ts";
import { label } from "../schema/formats.ts";
import type { BackendKind } from "../schema/backend-kinds.ts";
import { defineResource } from "../schema/resource.ts";

/** Labels that backends match and agents bind. */
const labelsField = f.map(
  "Labels to watch for tunnels on. A tunnel matches if it has all of them.",
  f.string("The label's value.", { minBytes: 1, format: label }),
  {
    key: f.string("The label's name.", { minBytes: 1, format: label }),
    minItems: 1,
    maxItems: 32,
    required: true,
    keepIfEmpty: true,
  },
);

export const tunnelGroupBackend = defineResource({
  name: "tunnel_group_backend" satisfies BackendKind,
  schemaName: "TunnelGroupBackend",
  path: "/backends/tunnel_group",
  listKey: "backends",
  idPrefix: "bkdtg",
  doc: "A backend of all online tunnels with matching labels.",
  fields: {
    ...notes,
    labels: labelsField,
    tunnels: f.refList("All matching online tunnels.", { to: "tunnel", input: "tunnels" }, { live: true }),
  },
  traffic: true,
});
