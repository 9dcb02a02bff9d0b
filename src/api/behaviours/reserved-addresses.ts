/** TCP addresses: one port each, chosen here or named by the first edge that uses it. */
import { randomInt } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import { reservedAddr } from "../../resources/reserved-addr.ts";
import { portOf, tcpEdge } from "../../resources/tcp-edge.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import type { Draft } from "../../storage/store.ts";
import { checkAddressHost, claimNewHostports } from "./name-rules.ts";
import type { ClaimRules, Claimant } from "./name-rules.ts";
import { checkCarriesConnections } from "./nesting.ts";
import { checkAddressNotServed } from "./served-name-checks.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export interface AddressPool {
  /** Host of the addresses that are chosen here. */
  readonly domain: string;
  /** Range of ports for reserved addresses, inclusive. */
  readonly tcpPorts: PortRange;
  readonly liveObjects: Pick<LiveObjects, "agentEndpoints">;
}

interface PortRange {
  readonly first: number;
  readonly last: number;
}

export function reservedAddrBehaviour({ domain, tcpPorts, liveObjects }: AddressPool) {
  let freePort: ReturnType<typeof portSearch> | undefined;
  return behaviourOf(reservedAddr, {
    deleting: (object) => checkAddressNotServed(object, liveObjects),
    prepare({ draft, accountId, doc, previous }) {
      if (previous || doc.addr) return { doc };
      freePort ??= portSearch(tcpPorts);
      return { doc: { ...doc, addr: `${domain}:${freePort(draft, accountId)}` } };
    },
  });
}

/** As `ClaimRules`, for addresses, with the ports that accounts may use. */
export interface AddressRules extends ClaimRules, Pick<AddressPool, "tcpPorts"> {}

export function tcpEdgeBehaviour(rules: AddressRules) {
  return behaviourOf(tcpEdge, {
    prepare(input) {
      checkCarriesConnections(input.draft, input);
      claimNewHostports(input, (hostport) => reserveAddress(input, hostport, rules));
      return { doc: input.doc };
    },
  });
}

/** Throws `port_outside`, because only the operator decides about other ports of the machine. */
function checkPort(address: string, { operator }: Claimant["principal"], { first, last }: PortRange): void {
  const port = Number(portOf(address));
  if (operator || (port >= first && port <= last)) return;
  throw new Refusal("port_outside", `port ${port} is not in the range from ${first} to ${last}`);
}

/**
 * Checks that the account has the address. If it has none and reservations are optional, reserves the address for the
 * object of `doc`.
 */
export function reserveAddress(claimant: Claimant, hostport: string, rules: AddressRules): void {
  const { draft, accountId, doc } = claimant;
  checkAddressHost(draft, accountId, hostport.slice(0, hostport.lastIndexOf(":")), rules);
  const holder = draft.holder(accountId, "address", portOf(hostport));
  if (holder?.account_id === accountId) return;
  if (holder) throw new Refusal("hostport_held", `another account has reserved port ${portOf(hostport)}`);
  if (rules.requireReservation) {
    throw new Refusal("domain_unreserved", `address "${hostport}" is not reserved in this account`);
  }
  checkPort(hostport, claimant.principal, rules.tcpPorts);
  const empty = emptyDoc(resourceNamed(reservedAddr.name).fields);
  // With the same metadata, keys that may see the edge may see its address.
  draft.create(accountId, reservedAddr.name, { ...empty, addr: hostport, metadata: doc.metadata });
}

/**
 * Returns a search for free ports. Each search continues where the last one ended, so that many searches visit each
 * port only a few times. After a search that found none, the next search waits for a write.
 */
function portSearch({ first, last }: PortRange): (draft: Draft, accountId: string) => number {
  const count = last - first + 1;
  let start = randomInt(count);
  /** The revision of the write that found no port. */
  let fullAt = -1;
  return (draft, accountId) => {
    const isTaken = (port: number): boolean =>
      portSpaces.some((space) => draft.holder(accountId, space, String(port)) !== undefined);
    for (let step = 0; step < count && fullAt !== draft.revision; step += 1) {
      const place = (start + step) % count;
      if (isTaken(first + place)) continue;
      start = (place + 1) % count;
      return first + place;
    }
    fullAt = draft.revision;
    throw new Refusal("hostport_held", `all ports from ${first} to ${last} are in use`);
  };
}

const portSpaces = ["address", "tcp port"] as const;
