import type { RefusalName } from "../../lib/errors.ts";
import type { Step } from "../../traffic/step.ts";
import {
  refuseByRouter,
  unknownHost,
  unreadableForwarding,
  refuseUnroutable,
} from "../../routing/sites/router-refusals.ts";
import { checkHead } from "./check-head.ts";
import { encodingRefused } from "./encoded-request.ts";
import type { ExchangeRecord } from "./exchange-record.ts";
import type { ReceivedRequest } from "./received-request.ts";

/**
 * Finds the request's target and records it: one of the edge's own paths, or a site and its route. Returns the step
 * that ends the exchange if there is no target or the request is not allowed.
 */
export function matchRoute(record: ExchangeRecord): Step | undefined {
  const { request, shared } = record;
  const { host } = request;
  const { limits, owned } = shared.context;
  const site = shared.site(host, request.port, request.headers);
  // Set first, so that a request with errors is also attributed to its account.
  if (typeof site !== "string") {
    record.site = site;
    record.wholeSite = shared.wholeSite;
  }
  const facts = shared.factsOf(request);
  if (facts === "forwarding_unreadable") return unreadableForwarding;
  record.connection = facts;
  const wrong = checkHead(request, limits.maxBodyBytes);
  if (wrong !== undefined) return wrong;
  const { path } = request;
  record.owned = owned?.forAnyHost(host, path);
  if (record.owned !== undefined) return undefined;
  if (site === "unknown_host") return unknownHost(host);
  if (typeof site === "string") return refuseMisdirected(site, request);
  record.owned = owned?.ofSite(host, path, record.wholeSite ?? site);
  if (record.owned !== undefined) return undefined;
  const route = site.problem === undefined ? site.findRoute(path, host) : undefined;
  record.route = route;
  const unclear = request.isEncoded ? encodingRefused(request, host, site, route, shared.context) : undefined;
  if (unclear !== undefined) return unclear;
  if (route === undefined) return refuseUnroutable(site, route, path);
  record.steps.push(route.matched);
  return route.problem === undefined ? undefined : refuseUnroutable(site, route, path);
}

/** Refuses a request whose host or port does not belong to the connection. */
function refuseMisdirected(reason: RefusalName, { host, port }: ReceivedRequest): Step {
  const named = port === 0 ? host : `${host}:${port}`;
  return refuseByRouter(reason, `host "${named}" does not belong to this connection`);
}
