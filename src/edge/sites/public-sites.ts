/** Who owns a public name: the site of the configuration or of an agent that a connection to it is served by. */
import { hostOfName, nameOf } from "../../lib/plain-names.ts";
import { internalKey, isInternalKey, keysOver } from "../../lib/internal-names.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Pools } from "./pools.ts";

/** Each is asked with a lower-case host name, and answers for now. */
export interface PublicSites {
  /** Over TLS: an edge or an endpoint, of requests or of whole connections. */
  readonly secure: (host: string) => Site | ConnectionSite | undefined;
  /** Over HTTPS: as `secure`, where it is of requests. */
  readonly https: (host: string) => Site | undefined;
  /** Over plain HTTP: endpoints alone; everything else is redirected. */
  readonly http: (host: string) => Site | undefined;
  /** An internal endpoint of the account, by its name, or that of the other scheme. Policies alone lead there. */
  readonly internal: (accountId: string, name: string) => Site | undefined;
  /** The same for whole connections: of TLS or TCP, as the address says. */
  readonly internalConnection: (accountId: string, address: InternalAddress) => ConnectionSite | undefined;
  /** The endpoint of an agent, by its id. */
  readonly endpoint: (id: string) => Site | ConnectionSite | undefined;
  /** The endpoint of whole connections at a host name, or at a port. */
  readonly endpointAt: (
    kind: "tls_endpoint" | "tcp_endpoint",
    host: string,
    port: number,
  ) => ConnectionSite | undefined;
}

/**
 * R5: a wildcard never takes a name away from the endpoint that is published at it; an edge with the very name does. The
 * wildcard of an endpoint covers one label, and an edge with the same wildcard comes before it.
 *
 * @param logins where visitors come back to from identity providers; its name is nobody else's
 */
export function makePublicSites(
  table: Pick<RoutingTable, "serving" | "named" | "hostHolder">,
  registry: Pick<
    AgentRegistry,
    "secureAt" | "siteFor" | "plainSiteFor" | "tlsSiteFor" | "tcpSiteAt" | "tunnel" | "pool"
  >,
  logins: Site,
  pools: Pools,
): PublicSites {
  const publishedAt = (name: string, isPlain: boolean): Site | undefined =>
    isPlain ? pools.http(registry.plainSiteFor(name)) : pools.https(registry.siteFor(name));
  /** The endpoint at the wildcard over `host`; undefined where the host belongs to something else. */
  const covering = <S extends Site | ConnectionSite>(
    host: string,
    siteAt: (name: string) => S | undefined,
    edge = table.serving(host),
  ): S | undefined => {
    const wildcard = wildcardOver(host);
    const site = wildcard === undefined ? undefined : siteAt(wildcard);
    if (!site || edge?.hosts.includes(host) || edge?.hosts.includes(wildcard as string)) return undefined;
    // An endpoint of the host's own keeps the wildcard away from both schemes, also where it does not compile here.
    if (registry.pool(host).length > 0 || registry.pool(nameOf("http", host)).length > 0) return undefined;
    return table.hostHolder(host)?.accountId === site.accountId ? site : undefined;
  };
  const secure = (host: string): Site | ConnectionSite | undefined => {
    if (logins.hosts.includes(host)) return logins;
    // Nobody outside reaches what is internal, whatever name a handshake has.
    if (isInternalKey(host)) return undefined;
    const edge = table.serving(host);
    if (edge?.hosts.includes(host)) return pools.secure(edge);
    return pools.secure(registry.secureAt(host) ?? covering(host, registry.secureAt, edge) ?? edge);
  };
  return {
    secure,
    https: (host) => httpSite(secure(host)),
    http: (host) =>
      isInternalKey(host)
        ? undefined
        : pools.http(registry.plainSiteFor(host) ?? covering(host, registry.plainSiteFor)),
    internal(accountId, name) {
      const host = hostOfName(name);
      const isPlain = host !== name;
      for (const key of keysOver(internalKey({ scheme: "https", host, port: 443 }, accountId))) {
        const published = publishedAt(key, isPlain) ?? publishedAt(key, !isPlain);
        const site = published ?? pools.https(httpSite(table.named(key)));
        if (site?.accountId === accountId) return pools.choose(site);
      }
      return undefined;
    },
    internalConnection(accountId, address) {
      for (const key of keysOver(internalKey(address, accountId))) {
        const site = registry.tlsSiteFor(key) ?? table.named(key);
        if (site?.accountId !== accountId || !("connection" in site)) continue;
        if (site.kind.startsWith(address.scheme)) return pools.choose(pools.connections(site));
      }
      return undefined;
    },
    endpoint: (id) => registry.tunnel(id.replace(/^ep_/, "tn_"))?.endpoint?.site,
    endpointAt: (kind, host, port) =>
      kind === "tls_endpoint"
        ? (registry.tlsSiteFor(host) ?? covering(host, registry.tlsSiteFor))
        : registry.tcpSiteAt(port),
  };
}

function wildcardOver(host: string): string | undefined {
  const dot = host.indexOf(".");
  return dot > 0 && !host.startsWith("*") ? `*${host.slice(dot)}` : undefined;
}

function httpSite(site: Site | ConnectionSite | undefined): Site | undefined {
  return site && "findRoute" in site ? site : undefined;
}
