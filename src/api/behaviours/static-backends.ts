/** Backends at fixed addresses, limited to addresses that the edge may dial. */
import { Refusal } from "../../lib/errors.ts";
import { explainForbidden } from "../../lib/upstream-address.ts";
import { staticBackend } from "../../resources/static-backend.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export interface UpstreamRules {
  /** Whether backends may name loopback and link-local addresses. */
  readonly allowLocalUpstreams: boolean;
}

/**
 * Rejects literal addresses only. A name may resolve to another address later, so the edge checks names when it dials.
 */
export function staticBackendBehaviour({ allowLocalUpstreams }: UpstreamRules) {
  return behaviourOf(staticBackend, {
    prepare({ doc, previous }) {
      const { address } = doc;
      const literal = /^(?:\[([^\]]+)\]|([0-9.]+)):/
        .exec(address)
        ?.slice(1)
        .find((text) => text !== undefined);
      if (literal === undefined || address === previous?.doc.address) return { doc };
      const forbidden = explainForbidden(literal, allowLocalUpstreams);
      if (forbidden === undefined) return { doc };
      const isLocal = explainForbidden(literal, true) === undefined;
      const fix = isLocal
        ? "publish the service with an agent, or start the server with --allow-local-upstreams"
        : "use another address";
      const why = `must be an address that this server may connect to: "${literal}" is ${forbidden} (${fix})`;
      throw new Refusal("address_forbidden", `the backend would get no requests: "address" ${why}`, { address: why });
    },
  });
}
