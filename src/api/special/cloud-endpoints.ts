/** Endpoints that are configured: their addresses are held as those of edges are. */
import { isDeepStrictEqual } from "node:util";
import { timestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { parseEndpointUrl } from "../../schema/endpoint-url.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Call, Operation } from "../operation/call.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { reserveAddress } from "./addresses.ts";
import { claimName } from "./domains.ts";
import type { Special, Surroundings } from "./special.ts";

export function cloudEndpointSpecial(surroundings: Surroundings): Special {
  return {
    prepare(input) {
      const { doc, previous } = input;
      if (previous?.doc["url"] !== doc["url"]) {
        const { scheme, hostport } = parseEndpointUrl(doc["url"] as string);
        if (scheme === "tcp") {
          reserveAddress(input, hostport, surroundings);
        } else claimName(input, hostport, surroundings);
      }
      if (previous && isDeepStrictEqual(untimed(previous.doc), untimed(doc))) return { doc };
      return { doc: { ...doc, updated_at: timestamp(surroundings.clock.now()) } };
    },
    configured: untimed,
    live: (object) => surroundings.liveObjects.cloudEndpoint(object),
  };
}

function untimed(doc: Doc): Doc {
  return { ...doc, updated_at: null };
}

/** Operations on cloud endpoints, with a word on the other endpoints, which are changed where they come from. */
export function onlyCloudEndpoints(operation: Operation, liveObjects: LiveObjects): Operation {
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
  const found = liveObjects.get(principal.accountId, "endpoint", parameters[0] as string);
  if (!found || found.doc["type"] === "cloud") return;
  const where = found.doc["type"] === "edge" ? "its edge: change or delete that" : "its agent: stop or restart that";
  throw new Refusal("endpoint_fixed", `the endpoint comes from ${where}`);
}
