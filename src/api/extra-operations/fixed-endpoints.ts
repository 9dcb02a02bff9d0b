import { Refusal } from "../../lib/errors.ts";
import { endpoint } from "../../resources/endpoint.ts";
import { docOf } from "../../schema/doc.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { Call, Operation } from "../operation/call.ts";

/** Returns operations on cloud endpoints. For other endpoints they respond with where to change them. */
export function limitToCloudEndpoints(operation: Operation, liveObjects: LiveObjects): Operation {
  if (!operation.path.includes("{id}")) return operation;
  return {
    ...operation,
    refusals: [...(operation.refusals ?? []), "endpoint_fixed"],
    run(call) {
      checkCloud(call, liveObjects);
      return operation.run(call);
    },
  };
}

function checkCloud({ principal, parameters }: Call, liveObjects: LiveObjects): void {
  const found = liveObjects.get(principal.accountId, endpoint.name, parameters[0] as string);
  const type = found && docOf(found, endpoint).type;
  if (type === undefined || type === "cloud") return;
  const where = type === "edge" ? "its edge: change or delete the edge" : "its agent: stop or restart the agent";
  throw new Refusal("endpoint_fixed", `the endpoint comes from ${where}`);
}
