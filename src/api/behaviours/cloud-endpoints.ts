/** Endpoints that are configured: their addresses are held as those of edges are. */
import { isDeepStrictEqual } from "node:util";
import { timestamp } from "../../lib/clock.ts";
import { parseEndpointUrl } from "../../schema/endpoint-url.ts";
import type { Doc } from "../../schema/doc.ts";
import { reserveAddress } from "./addresses.ts";
import { claimName } from "./domains.ts";
import type { Behaviour, Surroundings } from "../objects/behaviour.ts";

export function cloudEndpointBehaviour(surroundings: Surroundings): Behaviour {
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
