import { f, notes } from "../schema/fields.ts";
import type { BackendKind } from "../schema/backend-kinds.ts";
import { defineResource } from "../schema/resource.ts";
import { backendKinds } from "../schema/backend-kinds.ts";

export const weightedBackend = defineResource({
  name: "weighted_backend" satisfies BackendKind,
  schemaName: "WeightedBackend",
  path: "/backends/weighted",
  listKey: "backends",
  idPrefix: "bkdwd",
  doc: "A backend that distributes traffic among other backends by weight.",
  fields: {
    ...notes,
    backends: f.map(
      "Weight by backend id. A backend receives its weight divided by the sum of all weights; 0 receives no traffic.",
      f.uint32("The weight.", { max: 10_000, example: 1 }),
      { keysTo: backendKinds, required: true, minItems: 1, maxItems: 20, keepIfEmpty: true },
    ),
  },
  traffic: true,
  refusals: ["backend_nesting", "backend_needs_http"],
  rules: [
    ({ backends }) =>
      Object.values(backends).some((weight) => weight > 0)
        ? undefined
        : { path: "backends", message: "must have a weight above 0" },
  ],
});
