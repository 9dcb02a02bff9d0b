import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";

/** Returns the tunnel as traces and explanations show it. */
export function viewOfTunnel(tunnel: ServingTunnel | undefined): Record<string, string> | null {
  return tunnel ? { id: tunnel.id, tunnel_session_id: tunnel.sessionId, forwards_to: tunnel.forwardsTo } : null;
}
