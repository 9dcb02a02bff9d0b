/** TCP addresses: a port each, chosen here or named by the first edge that has it. */
import { randomInt } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import { portOf } from "../../resources/tcp-edge.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { resourceNamed } from "../operation/declarations.ts";
import type { Draft } from "../../storage/store.ts";
import { checkAddressHost } from "./host-names.ts";
import { checkCarriesConnections } from "./nesting.ts";
import { checkAddressNotServed } from "./served-names.ts";
import type { Preparation, Behaviour, Surroundings } from "../objects/behaviour.ts";

export function reservedAddrBehaviour({ domain, tcpPorts, liveObjects }: Surroundings): Behaviour {
  return {
    deleting: (object) => checkAddressNotServed(object, liveObjects),
    prepare({ draft, accountId, doc, previous }) {
      if (previous || doc["addr"]) return { doc };
      return { doc: { ...doc, addr: `${domain}:${freePort(draft, accountId, tcpPorts)}` } };
    },
  };
}

export function tcpEdgeBehaviour(surroundings: Surroundings): Behaviour {
  return {
    prepare({ draft, accountId, doc, previous }) {
      checkCarriesConnections(draft, { accountId, doc, previous });
      const before = new Set((previous?.doc["hostports"] ?? []) as readonly string[]);
      for (const hostport of doc["hostports"] as readonly string[]) {
        if (!before.has(hostport)) reserveAddress({ draft, accountId, doc }, hostport, surroundings);
      }
      return { doc };
    },
  };
}

/** Makes sure that the account has the address, and reserves it for what `doc` is of where that is allowed. */
export function reserveAddress(
  { draft, accountId, doc }: Pick<Preparation, "draft" | "accountId" | "doc">,
  hostport: string,
  surroundings: Surroundings,
): void {
  checkAddressHost(draft, accountId, hostport.slice(0, hostport.lastIndexOf(":")), surroundings);
  const holder = draft.holder(accountId, "address", portOf(hostport));
  if (holder?.account_id === accountId) return;
  if (holder) throw new Refusal("hostport_held", `port ${portOf(hostport)} is reserved in another account`);
  if (surroundings.requireReservation) {
    throw new Refusal("domain_unreserved", `address "${hostport}" is not reserved in this account`);
  }
  const empty = emptyDoc(resourceNamed("reserved_addr").fields);
  // Whoever may have the edge may have its address.
  draft.create(accountId, "reserved_addr", { ...empty, addr: hostport, metadata: doc["metadata"] });
}

function freePort(draft: Draft, accountId: string, { first, last }: Surroundings["tcpPorts"]): number {
  const count = last - first + 1;
  const start = randomInt(count);
  for (let step = 0; step < count; step += 1) {
    const port = first + ((start + step) % count);
    const taken = (space: string) => draft.holder(accountId, space, String(port)) !== undefined;
    if (!taken("address") && !taken("tcp port")) return port;
  }
  throw new Refusal("hostport_held", `all ports from ${first} to ${last} are taken`);
}
