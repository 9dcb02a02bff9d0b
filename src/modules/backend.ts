import { f } from "../schema/fields.ts";
import { backendKinds } from "../schema/backend-kinds.ts";
import { planOf } from "../traffic/parts/backend-plan.ts";
import { defineModule } from "../traffic/module.ts";

export const backend = defineModule({
  name: "backend",
  schemaName: "EndpointBackend",
  on: ["https_route", "tls_edge", "tcp_edge"],
  doc: "Sends traffic to a backend.",
  acts: { connection: ["choose the upstream"], request: ["choose the upstream"] },
  fields: {
    backend: f.ref("Backend used to back the endpoint.", { to: backendKinds, input: "backend_id" }, { required: true }),
  },
  compile({ backend_id }, scope) {
    const id = backend_id as string;
    return { upstream: scope.shared(`backend ${id}`, (look) => planOf(look, id)) };
  },
});
