/** Finds the owner of a public name: the configured site or the agent's site that serves a connection to it. */
import { hostOfName, nameOf } from "../../lib/plain-names.ts";
import { internalKey, isInternalKey, keysOver } from "../../lib/internal-names.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled-site.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Pools } from "./pools.ts";

/** Each function takes a lower-case host name and returns the current result. */
export interface PublicSites {
  /** Returns the edge or endpoint over TLS, of requests or of whole connections. */
  readonly secure: (host: string) => Site | ConnectionSite | undefined;
  /** Like `secure`, only for requests. */
  readonly https: (host: string) => Site | undefined;
  /** Returns the endpoint over plain HTTP. All other names are redirected. */
  readonly http: (host: string) => Site | undefined;
  /**
   * Returns an internal endpoint of the account by its name, or the endpoint with the other scheme. Only policies can
   * reach it.
   */
  readonly internal: (accountId: string, name: string) => Site | undefined;
  /** Like `internal`, for whole TLS or TCP connections, depending on the address. */
  readonly internalConnection: (accountId: string, address: InternalAddress) => ConnectionSite | undefined;
  /** Returns an agent's endpoint by its id. */
  readonly endpoint: (id: string) => Site | ConnectionSite | undefined;
  /** Returns the endpoint of whole connections at a host name or port. */
  readonly endpointAt: (
    kind: "tls_endpoint" | "tcp_endpoint",
    host: string,
    port: number,
  ) => ConnectionSite | undefined;
}

/**
 * R5: a wildcard never takes a name from an endpoint published there, but an edge with exactly this name does. An
 * endpoint's wildcard covers one label. An edge with the same wildcard comes first.
 *
 * @param logins settings with the host to which logins return, which nothing else may have
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
  /** Returns the endpoint whose wildcard covers `host`. Undefined if the host has another owner. */
  const covering = <S extends Site | ConnectionSite>(
    host: string,
    siteAt: (name: string) => S | undefined,
    edge = table.serving(host),
  ): S | undefined => {
    const wildcard = wildcardOver(host);
    const site = wildcard === undefined ? undefined : siteAt(wildcard);
    if (!site || edge?.hosts.includes(host) || edge?.hosts.includes(wildcard as string)) return undefined;
    // An endpoint at exactly this host blocks the wildcard for both schemes, even if the endpoint does not compile
    // here.
    if (registry.pool(host).length > 0 || registry.pool(nameOf("http", host)).length > 0) return undefined;
    return table.hostHolder(host)?.accountId === site.accountId ? site : undefined;
  };
  const secure = (host: string): Site | ConnectionSite | undefined => {
    if (logins.hosts.includes(host)) return logins;
    // Internal names are never reachable from outside, whatever name the handshake has.
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
