/** A policy that is not applied yet, as the edge would carry it out. */
import { createContext } from "preact";
import type { Explanation } from "../../../../sdk/src/index.ts";
import { postern } from "../api.ts";

/** A route that there is already. */
export interface RouteOfPolicy {
  readonly edgeId: string;
  readonly routeId: string;
}

/** On which the policy of a form stands; undefined where no edge knows it yet. */
export const PolicyRoute = createContext<RouteOfPolicy | undefined>(undefined);

/** What the edge would do if the route had the policy. */
export function atTheEdge({ edgeId, routeId }: RouteOfPolicy, policy: string, asked: object): Promise<Explanation> {
  return postern.edges.https.explain(edgeId, { ...asked, draft: { route_id: routeId, traffic_policy: policy } });
}
