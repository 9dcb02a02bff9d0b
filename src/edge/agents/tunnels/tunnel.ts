import { formatTimestamp } from "../../../lib/clock.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { TunnelReport } from "../../../directory/agent-reports.ts";
import type { ConnectionSite, Site } from "../../../routing/sites/compiled-site.ts";
import type { Beside } from "../../../traffic/upstream-plan.ts";
import { isInternalKey } from "../../../lib/internal-names.ts";
import { nameOf } from "../../../lib/plain-names.ts";
import type { AgentSession, BindRequest } from "../../../tunnel/server-hooks.ts";

/** Properties that tunnels must have in common to serve a name together. */
export interface Company {
  /** Equal for all tunnels that serve the name. The protocol for pooled ones. */
  readonly key: string;
  /** Whether their agents request pooling (`PoolingEnabled`). */
  readonly isPool: boolean;
  /** Equal for equal options, because one agent's tunnels must do the same. Undefined within a pool. */
  readonly likeness: string | undefined;
  /** Equal for the tunnels that one agent has in several sessions, also within a pool. */
  readonly agent: string | undefined;
}

/** Returns equal text for tunnels that may serve a name together. Undefined for a tunnel that serves its name alone. */
export function sharingKey(company: Company | undefined): string | undefined {
  if (company?.likeness === undefined) return company?.key;
  return `${company.key.length} ${company.key} ${company.likeness}`;
}

/** A tunnel that is online: with its own endpoint, or with labels for backends. */
export interface Tunnel {
  readonly id: string;
  readonly session: AgentSession;
  readonly forwardsTo: string;
  metadata: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** The claimed name, see `claimedName`. "" for a tunnel with labels. */
  readonly name: string;
  /** Whether its endpoint is compiled. Another edge's endpoint is compiled on first use. */
  readonly isOpened: boolean;
  /**
   * Replaced at the same place when the agent changes it. Undefined for a tunnel with labels, and for another edge's
   * endpoint that does not compile here.
   */
  endpoint: Endpoint | undefined;
  /** Condition for other tunnels to share the name. Undefined if none may. Known without compiling the endpoint. */
  readonly company: Company | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether the service speaks only HTTP/2 with prior knowledge, and not HTTP/1.1. */
  readonly http2: boolean;
  /** Version of the PROXY protocol header to write before a connection's bytes. 0 for none. */
  readonly proxyProtocol: 0 | 1 | 2;
  /** Whether its agent wants the durations of requests at this edge. */
  readonly wantsTimes: boolean;
  /** False after the tunnel was closed. Nothing is sent through it any more. */
  online: boolean;
  /** Whether another edge has the tunnel. `session` leads to that edge. */
  readonly isElsewhere: boolean;
}

export interface Endpoint {
  readonly id: string;
  readonly proto: EndpointProto;
  readonly host: string;
  /** Port of the public URL. */
  readonly port: number;
  readonly url: string;
  /** Name and description from the agent, or "". */
  readonly name: string;
  readonly description: string;
  readonly site: Site | ConnectionSite;
  /** Tunnels that may replace this endpoint's own. Undefined if it serves its URL alone. */
  readonly beside: Beside | undefined;
  /** Condition for other tunnels to share the name. Undefined if none may. */
  readonly company: Company | undefined;
  /**
   * Returns the endpoint compiled again if objects of the account that its traffic policy names have changed. Otherwise
   * returns undefined. Throws `Refusal` if one was deleted.
   */
  renewed(): Endpoint | undefined;
}

/** Protocol between visitors and the edge. `http` is without TLS. */
export type EndpointProto = "https" | "http" | "tls" | "tcp";

export function renderTunnel(tunnel: Tunnel, region: string): TunnelReport {
  const { session, endpoint, labels } = tunnel;
  return {
    id: tunnel.id,
    accountId: session.accountId,
    sessionId: session.id,
    credentialId: session.credentialId,
    startedAt: formatTimestamp(tunnel.startedAt),
    metadata: tunnel.metadata,
    forwardsTo: tunnel.forwardsTo,
    region,
    ...(endpoint && {
      endpoint: {
        id: endpoint.id,
        proto: endpoint.proto,
        publicUrl: endpoint.url,
        name: endpoint.name,
        description: endpoint.description,
        ...(endpoint.company?.isPool === true && { pooled: true }),
      },
    }),
    ...(labels && { labels }),
  };
}

/** Returns the name that an endpoint claims: its host, with the account if it is internal, or `:` and a port. */
export function claimedName({ proto, host, port, site }: Endpoint): string {
  return isAtPort(site, host) ? `:${port}` : nameOf(proto, host);
}

/** Whether it is found by a port of the server and not by its name. */
export function isAtPort(site: Endpoint["site"], host: string): site is ConnectionSite {
  return site.kind === "tcp_endpoint" && !isInternalKey(host);
}

/**
 * Returns the data about a tunnel that other edges need.
 * @param request from which the endpoint was made
 */
export function shareTunnel(tunnel: Tunnel, request: BindRequest | undefined): SharedTunnel {
  const { id, session, forwardsTo, metadata, startedAt, http2, proxyProtocol, wantsTimes, labels, endpoint } = tunnel;
  return {
    id,
    sessionId: session.id,
    accountId: session.accountId,
    forwardsTo,
    metadata,
    startedAt,
    http2,
    proxyProtocol,
    ...(wantsTimes && { wantsTimes }),
    ...(labels && { labels }),
    ...(endpoint && {
      endpoint: {
        name: claimedName(endpoint),
        ...(endpoint.company && { pool: endpoint.company.key }),
        host: endpoint.host,
        port: endpoint.port,
        request: JSON.stringify(request),
      },
    }),
  };
}
