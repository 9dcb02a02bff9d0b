import type { Step } from "../../traffic/step.ts";
import { refused, unknownHost, unreadableForwarding, unroutable } from "../../routing/sites/refusals.ts";
import { challengeAnswer } from "./challenge-answer.ts";
import { checkHead } from "./check-head.ts";
import type { ExchangeRecord } from "./exchange-record.ts";

/**
 * Finds the site and the route that a request leads to, and notes them in its record. Returns the step that ends
 * the exchange where the request leads to nothing, or may not be sent.
 */
export function matchRoute(record: ExchangeRecord): Step | undefined {
  const { request, shared } = record;
  const { host } = request;
  const { context } = shared;
  const site = shared.site(host, request.port);
  // Whose request it is, whatever is wrong with it.
  if (typeof site !== "string") record.site = site;
  const facts = shared.factsOf(request);
  if (facts === "forwarding_unreadable") return unreadableForwarding;
  record.connection = facts;
  const wrong = checkHead(request, context.limits.maxBodyBytes);
  if (wrong !== undefined) return wrong;
  const { path } = request;
  const challenge = context.challengeBody?.(host, path);
  if (challenge !== undefined) return challengeAnswer(challenge);
  if (site === "unknown_host") return unknownHost(host);
  if (typeof site === "string") return refused(site, `host "${host}" is not what the connection was opened for`);
  const route = site.problem === undefined ? site.findRoute(path) : undefined;
  record.route = route;
  if (route === undefined) return unroutable(site, route, path);
  record.steps.push(route.matched);
  return route.problem === undefined ? undefined : unroutable(site, route, path);
}
