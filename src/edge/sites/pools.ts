/** Several endpoints with the same URL as one site. Each request or connection is assigned to one of them. */
import { nameOf } from "../../lib/plain-names.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled-site.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import { sameDemands } from "../tls/demands.ts";

export interface Pools {
  /**
   * Returns the site, or the pool of the site and its members. The pool stays the same object until its members change.
   */
  https(site: Site | undefined): Site | undefined;
  /** Like `https`, for requests and for whole connections over TLS. */
  secure(site: Site | ConnectionSite | undefined): Site | ConnectionSite | undefined;
  /** Like `https`, for endpoints without TLS. */
  http(site: Site | undefined): Site | undefined;
  connections(site: ConnectionSite | undefined): ConnectionSite | undefined;
  /** Returns a random member of a pool, or the site itself if it is not a pool. */
  choose<S extends { readonly members?: readonly S[] }>(site: S | undefined): S | undefined;
}

interface PooledSite {
  readonly configured: readonly unknown[];
  readonly site: Site | ConnectionSite;
}

export function makePools(
  table: Pick<RoutingTable, "pool">,
  registry: Pick<AgentRegistry, "pool">,
  random: () => number,
): Pools {
  // Keyed by the list of a name's tunnels, which is replaced on each change. Without tunnels, keyed by the first site.
  const made = new WeakMap<object, PooledSite>();
  const pooled = <S extends Site | ConnectionSite>(
    site: S,
    join: (members: readonly S[]) => S,
    name = site.hosts[0] ?? "",
  ): S => {
    const agents = registry.pool(name);
    const configured = table.pool(name);
    const key = agents.length > 0 ? agents : (configured[0] ?? site);
    const before = made.get(key);
    if (before && sameList(before.configured, configured)) return before.site as S;
    // Visitors are already spread over the edges, so each edge prefers its own agents.
    const near = agents.some(({ isElsewhere }) => !isElsewhere)
      ? agents.filter(({ isElsewhere }) => !isElsewhere)
      : agents;
    const all = [...configured, ...keepOnePerAgent(near).flatMap(({ endpoint }) => (endpoint ? [endpoint.site] : []))];
    const members = all.filter((one) => one.pooled === true && schemeOf(one) === schemeOf(site)) as S[];
    const joined = members.length > 1 ? join(members) : (members[0] ?? site);
    made.set(key, { configured, site: joined });
    return joined;
  };
  return {
    secure(site) {
      if (site?.pooled !== true) return site;
      return "findRoute" in site ? pooled(site, joinSites) : pooled(site, joinConnections);
    },
    https: (site) => (site?.pooled === true ? pooled(site, joinSites) : site),
    http: (site) => (site?.pooled === true ? pooled(site, joinSites, nameOf("http", site.hosts[0] ?? "")) : site),
    connections: (site) => (site?.pooled === true ? pooled(site, joinConnections) : site),
    choose(site) {
      const members = site?.members;
      return members === undefined ? site : members[Math.floor(random() * members.length)];
    },
  };
}

/**
 * Keeps one tunnel of each agent. Its modules count for all of the agent's sessions, and its other tunnels act as
 * fallbacks.
 */
function keepOnePerAgent(tunnels: readonly Tunnel[]): readonly Tunnel[] {
  const first = new Map(tunnels.toReversed().map((one) => [one.company?.agent ?? one, one]));
  return tunnels.filter((one) => first.get(one.company?.agent ?? one) === one);
}

/** Returns the members of a site that accept a connection whose handshake met these demands. */
export function membersUnder(site: Site, handshake: Handshake): readonly Site[] {
  return (site.members ?? [site]).filter((one) => sameDemands(one.handshake, handshake));
}

function joinSites(members: readonly Site[]): Site {
  const first = members[0] as Site;
  const logins: readonly LoginGuard[] = members.flatMap((one) => one.logins ?? []);
  return Object.freeze(
    replaceSite(first, {
      logins,
      pooled: true,
      members,
      findRoute: (path, host) => first.findRoute(path, host),
      tellsPathsApart: (host) => first.tellsPathsApart?.(host) ?? true,
      advertises: (host, port) => members.some((one) => one.advertises(host, port)),
    }),
  );
}

type OfItsOwn = Pick<Site, "logins" | "pooled" | "members" | "findRoute" | "tellsPathsApart" | "advertises">;

/** Returns a site that replaces `site` and shares everything with it except `differences`. */
export function replaceSite(site: Site, differences: OfItsOwn): Site {
  const { kind, id, accountId, revision, hosts, handshake, problem } = site;
  return { kind, id, accountId, revision, hosts, handshake, problem, ...differences };
}

function joinConnections(members: readonly ConnectionSite[]): ConnectionSite {
  return Object.freeze({ ...(members[0] as ConnectionSite), members });
}

function sameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Agents' sites and configured sites with the same traffic have the same scheme. */
function schemeOf({ kind }: Site | ConnectionSite): string {
  return kind === "endpoint" || kind === "https_edge" ? "https" : kind.slice(0, 3);
}
