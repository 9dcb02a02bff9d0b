/** Refusals by the router, with the same words in the trace and in a dry run. */
import type { RefusalName } from "../../lib/errors.ts";
import { denyStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { CompiledRoute, Site } from "./compiled-site.ts";
import { isEndpointId } from "../../lib/ids.ts";

const by = "router";

/**
 * Returns a refusal by the router.
 * @param why one clause without full stop, for operators
 */
export function refuseByRouter(reason: RefusalName, why: string): Step {
  return denyStep(by, reason, why);
}

export const noBackend: Step = refuseByRouter("backend_empty", "the route has no backend");

/** For an endpoint with only a policy, if no rule has answered. */
export const fellThrough: Step = refuseByRouter("policy_fell_through", "no rule of the endpoint's policy has answered");

/**
 * Returns the step for a site without an upstream.
 * @param id of the edge, route or endpoint
 */
export function withoutUpstream(id: string): Step {
  return isEndpointId(id) ? fellThrough : noBackend;
}

/** Maximum number of internal endpoints to which one request or connection may be forwarded in turn. */
const maxHops = 5;

/** Returns the refusal at the `hops`-th internal endpoint. Undefined if the number is allowed. */
export function refuseTooManyHops(hops: number, to: string): Step | undefined {
  if (hops <= maxHops) return undefined;
  return refuseByRouter("forward_loop", `forwarded more than ${maxHops} times, last to "${to}"`);
}

export const unreadableForwarding: Step = refuseByRouter(
  "forwarding_unreadable",
  "the trusted proxy's X-Forwarded-For holds something other than addresses",
);

export function unknownHost(host: string): Step {
  return refuseByRouter("unknown_host", `no edge serves host "${host}"`);
}

/** Returns why `site` has no usable `route` for `path`. Undefined if it has one. */
export function refuseUnroutable(site: Site, route: CompiledRoute | undefined, path: string): Step | undefined {
  if (site.problem) return refuseByRouter("route_broken", `the edge has a problem: ${site.problem.message ?? ""}`);
  if (!route) return refuseByRouter("no_route", `no route matches "${path}"`);
  if (route.problem) return refuseByRouter("route_broken", `the route has a problem: ${route.problem.message ?? ""}`);
  return undefined;
}

/** Returns the refusal after a module has thrown. Its route is closed (security R6). */
export function moduleFailed(error: unknown): Step {
  return refuseByRouter("route_broken", `a module failed: ${error instanceof Error ? error.message : String(error)}`);
}
