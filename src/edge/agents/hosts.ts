/** The host names of endpoints. */
import { internalNameOf, isInternalKey } from "../../lib/internal-names.ts";
import type { RoutingTable } from "../../routing/sites/compiled.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { makeClaims } from "./claims.ts";
import type { Claims } from "./claims.ts";

export type EndpointHosts = Claims<string>;

/**
 * @param monotonic milliseconds, see `Clock`
 * @param freeBelow the only domain below which names need no reservation; undefined: none needs one
 */
export function makeEndpointHosts(table: RoutingTable, monotonic: () => number, freeBelow?: string): EndpointHosts {
  return makeClaims({
    reservation(host, accountId, exactOnly) {
      // Names of internal endpoints are each account's own.
      if (isInternalKey(host)) return undefined;
      const holder = table.hostHolder(host);
      if (!holder) {
        const isFree = freeBelow === undefined || host.endsWith(`.${freeBelow}`);
        return isFree ? undefined : "its domain has to be reserved, and proven, with `POST /reserved_domains`";
      }
      const exact = namesExactly(table.object(holder.kind, holder.id), host);
      if (!exact && (exactOnly || holder.accountId === accountId)) return undefined;
      if (holder.accountId !== accountId) return "it is not available";
      return holder.kind.endsWith("_edge") ? `the edge "${holder.id}" serves it` : undefined;
    },
    shown: internalNameOf,
    monotonic,
  });
}

/** Whether an edge or a reserved domain holds `host` itself and not through a wildcard. */
function namesExactly(holder: ResourceObject | undefined, host: string): boolean {
  if (!holder) return true;
  const { hostports, domain } = holder.doc;
  if (typeof domain === "string") return domain.toLowerCase() === host;
  return Array.isArray(hostports) && hostports.some((one) => String(one).toLowerCase().startsWith(`${host}:`));
}
