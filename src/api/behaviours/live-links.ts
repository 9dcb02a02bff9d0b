/** References that are computed on each read, from online agents or from ids that do not prevent deletion. */
import { formatTimestamp } from "../../lib/clock.ts";
import { applicationSession } from "../../resources/application-session.ts";
import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";
import { tunnel } from "../../resources/tunnel.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { Doc, DocOf } from "../../schema/doc.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import { isEndpointId } from "../../lib/ids.ts";

interface Online {
  readonly liveObjects: Pick<LiveObjects, "matchingTunnels" | "matchingBackends">;
}

export const applicationSessionBehaviour = behaviourOf(applicationSession, {
  live: ({ doc: { edge_id, route_id, identity } }) => {
    const claims = claimsOf(identity);
    // Endpoints of agents and cloud endpoints have neither edge nor routes.
    if (isEndpointId(route_id)) return { edge: null, route: null, endpoint: route_id, claims };
    return { edge: edge_id || null, route: route_id || null, endpoint: null, claims };
  },
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

function claimsOf(identity: DocOf<typeof applicationSession>["identity"]): Doc {
  const { memberships, provider_session: _, authenticated_at: at, ...said } = identity;
  return { ...said, groups: memberships, authenticated_at: at === 0 ? null : formatTimestamp(at * 1000) };
}
