import { f, notes } from "../schema/fields.ts";
import type { BackendKind } from "../schema/backend-kinds.ts";
import { defineResource } from "../schema/resource.ts";
import { backendKinds } from "../schema/backend-kinds.ts";

export const failoverBackend = defineResource({
  name: "failover_backend" satisfies BackendKind,
  schemaName: "FailoverBackend",
  path: "/backends/failover",
  listKey: "backends",
  idPrefix: "bkdfo",
  doc: "A backend that tries other backends in order. It uses the next backend only if the previous one is unreachable.",
  fields: {
    ...notes,
    backends: f.refList(
      "Ids of the backends, in order.",
      { to: backendKinds, input: "backends" },
      { required: true, minItems: 1, maxItems: 20, bare: true, keepIfEmpty: true },
    ),
  },
  traffic: true,
  refusals: ["backend_nesting", "backend_needs_http"],
});
