/** Several endpoints of one URL as one site, of which one is chosen for each request or connection. */
import { nameOf } from "../../lib/plain-names.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import { sameDemands } from "../tls/demands.ts";

export interface Pools {
  /** The site itself, or what stands for it and those beside it: the same until one comes or goes. */
  https(site: Site | undefined): Site | undefined;
  /** The same for what is served over TLS, of requests or of whole connections. */
  secure(site: Site | ConnectionSite | undefined): Site | ConnectionSite | undefined;
  /** The same for what is served without TLS. */
  http(site: Site | undefined): Site | undefined;
  connections(site: ConnectionSite | undefined): ConnectionSite | undefined;
  /** One of those that a site stands for, at random; itself where it stands for none. */
  choose<S extends { readonly members?: readonly S[] }>(site: S | undefined): S | undefined;
}

interface Made {
  readonly configured: readonly unknown[];
  readonly site: Site | ConnectionSite;
}

export function makePools(
  table: Pick<RoutingTable, "pool">,
  registry: Pick<AgentRegistry, "pool">,
  random: () => number,
): Pools {
  // By the list of a name's tunnels, which is another one when one comes or goes; without tunnels by the first site.
  const made = new WeakMap<object, Made>();
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
    // Visitors are spread over the edges: each has its own agents serve them, where it has any.
    const near = agents.some(({ isElsewhere }) => !isElsewhere)
      ? agents.filter(({ isElsewhere }) => !isElsewhere)
      : agents;
    const all = [...configured, ...oncePerAgent(near).flatMap(({ endpoint }) => (endpoint ? [endpoint.site] : []))];
    const members = all.filter((one) => one.pooled === true && schemeOf(one) === schemeOf(site)) as S[];
    const joined = members.length > 1 ? join(members) : (members[0] ?? site);
    made.set(key, { configured, site: joined });
    return joined;
  };
  return {
    secure(site) {
      if (site?.pooled !== true) return site;
      return "findRoute" in site ? pooled(site, joinedSite) : pooled(site, joinedConnections);
    },
    https: (site) => (site?.pooled === true ? pooled(site, joinedSite) : site),
    http: (site) => (site?.pooled === true ? pooled(site, joinedSite, nameOf("http", site.hosts[0] ?? "")) : site),
    connections: (site) => (site?.pooled === true ? pooled(site, joinedConnections) : site),
    choose(site) {
      const members = site?.members;
      return members === undefined ? site : members[Math.floor(random() * members.length)];
    },
  };
}

/** Of what an agent has in several sessions one: its modules count together what they count, and the rest stand in for it. */
function oncePerAgent(tunnels: readonly Tunnel[]): readonly Tunnel[] {
  const first = new Map(tunnels.toReversed().map((one) => [one.company?.agent ?? one, one]));
  return tunnels.filter((one) => first.get(one.company?.agent ?? one) === one);
}

/** Those of a site's members that a connection may be served by whose handshake was bound to these demands. */
export function membersUnder(site: Site, handshake: Handshake): readonly Site[] {
  return (site.members ?? [site]).filter((one) => sameDemands(one.handshake, handshake));
}

function joinedSite(members: readonly Site[]): Site {
  const first = members[0] as Site;
  const logins: readonly LoginGuard[] = members.flatMap((one) => one.logins ?? []);
  return Object.freeze(
    standIn(first, {
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

/** What is in the place of a site: the same in all but what it has of its own. */
export function standIn(site: Site, own: OfItsOwn): Site {
  const { kind, id, accountId, revision, hosts, handshake, problem } = site;
  return { kind, id, accountId, revision, hosts, handshake, problem, ...own };
}

function joinedConnections(members: readonly ConnectionSite[]): ConnectionSite {
  return Object.freeze({ ...(members[0] as ConnectionSite), members });
}

function sameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Sites of agents and of configuration that serve the same have it in common. */
function schemeOf({ kind }: Site | ConnectionSite): string {
  return kind === "endpoint" || kind === "https_edge" ? "https" : kind.slice(0, 3);
}
