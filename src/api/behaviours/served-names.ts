/** Names that agents serve now: what reserves them stays while they do (decision 9). */
import { Refusal } from "../../lib/errors.ts";
import { wildcardsOver } from "../../lib/host-cover.ts";
import { hostMatches } from "../../lib/hostport.ts";
import { portOf } from "../../resources/tcp-edge.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { LiveObjects } from "../edges/live-objects.ts";

/** Throws `in_use` for a domain by which alone the account holds the name of an endpoint that is online. */
export function checkDomainNotServed(domain: StoredObject, draft: Draft, liveObjects: LiveObjects): void {
  const { id, account_id, doc } = domain;
  const name = doc["domain"] as string;
  const isHeldElse = (host: string): boolean =>
    [host, ...wildcardsOver(host)].some((one) => {
      const holder = draft.holder(account_id, "domain", one);
      return holder !== undefined && holder.account_id === account_id && holder.id !== id;
    });
  for (const endpoint of liveObjects.agentEndpoints(account_id)) {
    const host = String(endpoint.doc["host"]);
    if (endpoint.doc["proto"] === "tcp" || !hostMatches(name, host) || isHeldElse(host)) continue;
    throw servedBy(domain, endpoint);
  }
}

/** As `checkDomainNotServed`, for an address. */
export function checkAddressNotServed(address: StoredObject, liveObjects: LiveObjects): void {
  const port = Number(portOf(String(address.doc["addr"])));
  for (const endpoint of liveObjects.agentEndpoints(address.account_id)) {
    if (endpoint.doc["proto"] === "tcp" && endpoint.doc["port"] === port) throw servedBy(address, endpoint);
  }
}

function servedBy({ kind, id }: StoredObject, endpoint: StoredObject): Refusal {
  return new Refusal("in_use", `${kind} "${id}" is still used by endpoint "${endpoint.id}", which an agent serves`, {
    referrer_id: endpoint.id,
    referrer_kind: "endpoint",
  });
}
