/** Evaluates an unsaved policy at the edge. */
import { createContext } from "preact";
import type { Explanation } from "../../../../sdk/src/index.ts";
import { postern } from "../api.ts";

/** An existing route. */
export interface RouteOfPolicy {
  readonly edgeId: string;
  readonly routeId: string;
}

/** Route of the form's policy; undefined if no edge has it yet. */
export const PolicyRoute = createContext<RouteOfPolicy | undefined>(undefined);

/** Returns what the edge would do if the route had the policy. */
export function atTheEdge({ edgeId, routeId }: RouteOfPolicy, policy: string, asked: object): Promise<Explanation> {
  return postern.edges.https.explain(edgeId, { ...asked, draft: { route_id: routeId, traffic_policy: policy } });
}
