/** Endpoints of type `cloud` are nothing but a traffic policy, which this server does not carry out: refused, not kept. */
import { Refusal } from "../../lib/errors.ts";
import type { Operation } from "../call.ts";
import { resourceNamed } from "../declarations.ts";
import type { LiveObjects } from "../live-objects.ts";
import { theOne } from "../lookup.ts";

export function cloudEndpointOperations(liveObjects: LiveObjects): Operation[] {
  const { path } = resourceNamed("endpoint");
  const shared = { takes: "anything", status: 200, refusals: ["endpoint_fixed", "not_found"] } as const;
  return [
    {
      ...shared,
      id: "createEndpoint",
      method: "POST",
      path,
      summary: "Always refused: this server makes no cloud endpoints.",
      status: 201,
      refusals: ["cloud_endpoint_unsupported"],
      run() {
        throw new Refusal("cloud_endpoint_unsupported");
      },
    },
    {
      ...shared,
      id: "updateEndpoint",
      method: "PATCH",
      path: `${path}/{id}`,
      summary: "Always refused: endpoints of agents and edges are changed where they come from.",
      run: (call) => refuse(theOne(resourceNamed("endpoint"), call, liveObjects).doc["type"]),
    },
    {
      ...shared,
      id: "deleteEndpoint",
      method: "DELETE",
      path: `${path}/{id}`,
      summary: "Always refused: endpoints of agents and edges end where they come from.",
      status: 204,
      run: (call) => refuse(theOne(resourceNamed("endpoint"), call, liveObjects).doc["type"]),
    },
  ];
}

function refuse(type: unknown): never {
  const where = type === "edge" ? "its edge: change or delete that" : "its agent: stop or restart that";
  throw new Refusal("endpoint_fixed", `the endpoint comes from ${where}`);
}
