/** Protects the reservations of names that agents currently serve. */
import { Refusal } from "../../lib/errors.ts";
import { wildcardsOver } from "../../lib/host-cover.ts";
import { hostMatches } from "../../lib/hostport.ts";
import { endpoint } from "../../resources/endpoint.ts";
import { reservedAddr } from "../../resources/reserved-addr.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { docOf } from "../../schema/doc.ts";
import { portOf } from "../../resources/tcp-edge.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { LiveObjects } from "../edges/live-objects.ts";

/** Throws `in_use` if an online endpoint uses the domain and no other domain of the account covers its name. */
export function checkDomainNotServed(
  domain: StoredObject,
  draft: Draft,
  liveObjects: Pick<LiveObjects, "agentEndpoints">,
): void {
  const { id, account_id } = domain;
  const { domain: name } = docOf(domain, reservedDomain);
  const isHeldElse = (host: string): boolean =>
    [host, ...wildcardsOver(host)].some((one) => {
      const holder = draft.holder(account_id, "domain", one);
      return holder !== undefined && holder.account_id === account_id && holder.id !== id;
    });
  for (const served of liveObjects.agentEndpoints(account_id)) {
    const { host, proto } = docOf(served, endpoint);
    if (proto === "tcp" || !hostMatches(name, host) || isHeldElse(host)) continue;
    throw refuseServedName(domain, served);
  }
}

/** As `checkDomainNotServed`, for an address. */
export function checkAddressNotServed(address: StoredObject, liveObjects: Pick<LiveObjects, "agentEndpoints">): void {
  const port = Number(portOf(docOf(address, reservedAddr).addr));
  for (const served of liveObjects.agentEndpoints(address.account_id)) {
    const doc = docOf(served, endpoint);
    if (doc.proto === "tcp" && doc.port === port) throw refuseServedName(address, served);
  }
}

function refuseServedName({ kind, id }: StoredObject, served: StoredObject): Refusal {
  return new Refusal("in_use", `endpoint "${served.id}" of an agent still uses ${kind} "${id}"`, {
    referrer_id: served.id,
    referrer_kind: "endpoint",
  });
}
