import { timestamp } from "../../../lib/clock.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { TunnelReport } from "../../../directory/reports.ts";
import type { ConnectionSite, Site } from "../../../routing/sites/compiled.ts";
import type { Beside } from "../../../traffic/upstream-plan.ts";
import { isInternalKey } from "../../../lib/internal-names.ts";
import { nameOf } from "../../../lib/plain-names.ts";
import type { AgentSession, BindRequest } from "../../../tunnel/server-hooks.ts";

/** What a tunnel has in common with the tunnels that may serve its name together with it. */
export interface Company {
  /** The same text for all of them; the protocol for pooled ones. */
  readonly key: string;
  /** Their agents request pooling (`PoolingEnabled`). */
  readonly isPool: boolean;
  /** The tunnels of one agent must do the same: the same text for the same options. Undefined within a pool. */
  readonly likeness: string | undefined;
  /** Also within a pool, the same text for the tunnels that one agent has in several sessions. */
  readonly agent: string | undefined;
}

/** The same text for tunnels that may serve a name together; undefined for a tunnel that serves its name alone. */
export function sharingKey(company: Company | undefined): string | undefined {
  if (company?.likeness === undefined) return company?.key;
  return `${company.key.length} ${company.key} ${company.likeness}`;
}

/** A tunnel that is online: an endpoint of its own, or one with labels for backends. */
export interface Tunnel {
  readonly id: string;
  readonly session: AgentSession;
  readonly forwardsTo: string;
  metadata: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** That it claims, see `claimedName`; "" for one with labels. */
  readonly name: string;
  /** Whether its endpoint is compiled: another edge's is once somebody comes for it. */
  readonly isOpened: boolean;
  /**
   * Another one, at the same place, once the agent has changed it. Undefined for one with labels, and for another edge's
   * that does not compile here.
   */
  endpoint: Endpoint | undefined;
  /** What may serve its name with it; undefined: nothing. Known without compiling its endpoint. */
  readonly company: Company | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The service speaks HTTP/2 with prior knowledge, and no HTTP/1.1. */
  readonly http2: boolean;
  /** Version of the PROXY protocol's header to write before the bytes of a connection; 0: none. */
  readonly proxyProtocol: 0 | 1 | 2;
  /** Its agent wants to know how long requests took here. */
  readonly wantsTimes: boolean;
  /** False once it was taken away; nothing is sent through it any more. */
  online: boolean;
  /** It is another edge's, which `session` leads to. */
  readonly isElsewhere: boolean;
}

export interface Endpoint {
  readonly id: string;
  readonly proto: EndpointProto;
  readonly host: string;
  /** Of the public URL. */
  readonly port: number;
  readonly url: string;
  /** As its agent calls and describes it; "" where it does not. */
  readonly name: string;
  readonly description: string;
  readonly site: Site | ConnectionSite;
  /** Those that may stand in for its tunnel; undefined for one that serves its URL alone. */
  readonly beside: Beside | undefined;
  /** What may serve its name with it; undefined: nothing. */
  readonly company: Company | undefined;
  /**
   * Itself made anew where what its traffic policy names of the account has changed; undefined where nothing has.
   * Throws `Refusal` when that is not there any more.
   */
  renewed(): Endpoint | undefined;
}

/** What visitors speak to the edge; `http` without TLS. */
export type EndpointProto = "https" | "http" | "tls" | "tcp";

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

/** The name that an endpoint claims: of its host, with its account where it is internal, or `:` and a port. */
export function claimedName({ proto, host, port, site }: Endpoint): string {
  return isAtPort(site, host) ? `:${port}` : nameOf(proto, host);
}

/** Whether it is found by a port of the server, and not by its name. */
export function isAtPort(site: Endpoint["site"], host: string): site is ConnectionSite {
  return site.kind === "tcp_endpoint" && !isInternalKey(host);
}

/** What other edges have to know of it. @param request what its endpoint was made of */
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
