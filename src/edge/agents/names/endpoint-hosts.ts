/** The host names of endpoints. */
import { wildcardBase } from "../../../lib/host-cover.ts";
import { internalNameOf, isInternalKey } from "../../../lib/internal-names.ts";
import { hostOfName, siblingOf } from "../../../lib/plain-names.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../../routing/sites/compiled-site.ts";
import type { ResourceObject } from "../../../schema/object.ts";
import { makeClaims } from "./agent-claims.ts";
import type { Claims } from "./agent-claims.ts";
import { isEndpointId } from "../../../lib/ids.ts";

/** By name, see `nameOf`. */
export type EndpointHosts = Claims<string>;

/**
 * @param monotonic milliseconds, see `Clock`
 * @param wake see `ClaimsOptions`
 * @param freeBelow names below this domain need no reservation. Undefined if no name needs one
 */
export function makeEndpointHosts(
  table: RoutingTable,
  monotonic: () => number,
  wake?: (name: string) => void,
  freeBelow?: string,
): EndpointHosts {
  return makeClaims({
    wake,
    reservation(name, accountId, exactOnly, pool) {
      const host = hostOfName(name);
      // Each account has its own names of internal endpoints.
      if (isInternalKey(host)) return explainServedByOthers(table.pool(host), pool);
      const holder = table.hostHolder(host);
      const isWildcard = wildcardBase(host) !== undefined;
      if (!holder && isWildcard) return wildcardDemand(host);
      if (!holder) {
        const isFree = freeBelow === undefined || host.endsWith(`.${freeBelow}`);
        return isFree ? undefined : "reserve and prove its domain with `POST /reserved_domains`";
      }
      const exact = namesExactly(table.object(holder.kind, holder.id), host);
      const isOwn = holder.accountId === accountId;
      // R5: an account has a wildcard only while one of its reservations covers it.
      if (!exact && (isOwn || (exactOnly && !isWildcard))) return undefined;
      if (!isOwn) return "it is not available";
      return holder.kind.endsWith("_edge") ? explainServedByOthers(table.pool(host), pool) : undefined;
    },
    shown: internalNameOf,
    sibling: siblingOf,
    monotonic,
  });
}

function wildcardDemand(wildcard: string): string {
  const body = JSON.stringify({ domain: wildcard });
  return `an account publishes wildcards that it has reserved, and proven where that is required: reserve it with \`postern api POST /reserved_domains '${body}'\``;
}

/** Returns why an endpoint cannot have a name that the configuration serves. Pooled cloud endpoints share it. */
export function explainServedByOthers(
  sites: readonly Pick<ConnectionSite | Site, "id" | "kind" | "pooled">[],
  pool: string | undefined,
): string | undefined {
  const other = sites.find(({ kind, pooled }) => pooled !== true || kind !== `${pool}_edge`);
  if (!other) return undefined;
  return isEndpointId(other.id) ? `the cloud endpoint "${other.id}" serves it` : `the edge "${other.id}" serves it`;
}

/** Whether an edge or a reserved domain holds `host` itself and not through a wildcard. */
function namesExactly(holder: ResourceObject | undefined, host: string): boolean {
  if (!holder) return true;
  const { hostports, domain } = holder.doc;
  if (typeof domain === "string") return domain.toLowerCase() === host;
  return Array.isArray(hostports) && hostports.some((one) => String(one).toLowerCase().startsWith(`${host}:`));
}
