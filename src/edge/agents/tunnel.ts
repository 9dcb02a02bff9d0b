import { timestamp } from "../../lib/clock.ts";
import type { TunnelReport } from "../../routing/messages.ts";
import type { Site } from "../../routing/compiled.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";

/** A tunnel that is online: an endpoint of its own, or one with labels for backends. */
export interface Tunnel {
  readonly id: string;
  readonly session: AgentSession;
  readonly forwardsTo: string;
  readonly metadata: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endpoint: Endpoint | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** False once it was taken away; nothing is sent through it any more. */
  online: boolean;
}

interface Endpoint {
  readonly id: string;
  readonly host: string;
  /** Of the public URL. */
  readonly port: number;
  readonly url: string;
  readonly site: Site;
}

export function renderTunnel(tunnel: Tunnel, region: string): TunnelReport {
  const { session, endpoint, labels } = tunnel;
  return {
    id: tunnel.id,
    accountId: session.accountId,
    sessionId: session.id,
    credentialId: session.credentialId,
    startedAt: timestamp(tunnel.startedAt),
    metadata: tunnel.metadata,
    forwardsTo: tunnel.forwardsTo,
    region,
    ...(endpoint && { endpoint: { id: endpoint.id, proto: "https", publicUrl: endpoint.url } }),
    ...(labels && { labels }),
  };
}
