/** References that are computed on each read: from what agents have online, or from ids that hold on to nothing. */
import { applicationSession } from "../../resources/application-session.ts";
import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";
import { tunnel } from "../../resources/tunnel.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { behaviourOf } from "../objects/behaviour.ts";

interface Online {
  readonly liveObjects: Pick<LiveObjects, "matchingTunnels" | "matchingBackends">;
}

export const applicationSessionBehaviour = behaviourOf(applicationSession, {
  live: ({ doc: { edge_id, route_id } }) =>
    // Endpoints, of agents and cloud endpoints, have neither edge nor routes.
    route_id.startsWith("ep_")
      ? { edge: null, route: null, endpoint: route_id }
      : { edge: edge_id || null, route: route_id || null, endpoint: null },
});

export function tunnelGroupBackendBehaviour({ liveObjects }: Online) {
  return behaviourOf(tunnelGroupBackend, {
    live: ({ account_id, doc }) => ({ tunnels: liveObjects.matchingTunnels(account_id, doc.labels) }),
  });
}

export function tunnelBehaviour({ liveObjects }: Online) {
  return behaviourOf(tunnel, {
    live: ({ account_id, doc }) => ({ backends: liveObjects.matchingBackends(account_id, doc.labels) }),
  });
}
