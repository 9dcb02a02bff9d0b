/** The host names of endpoints: who serves one, who may have one, and who just had one. */
import { Refusal } from "../../lib/errors.ts";
import type { RoutingTable } from "../../routing/compiled.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Tunnel } from "./tunnel.ts";

/** A name stays with its account for this long after its tunnel has gone, so that a restart finds it free. */
const keptMs = 600_000;
const maxKept = 100_000;

/** Who asks for a name. */
interface Claimant {
  readonly accountId: string;
  readonly credentialId: string;
}

export interface EndpointHosts {
  tunnel(host: string): Tunnel | undefined;
  /**
   * Throws `agent_name_taken` unless `claimant` may have `host`. Returns the tunnel that serves it now and must
   * make way: it belongs to the same credential.
   */
  claim(host: string, claimant: Claimant): Tunnel | undefined;
  /** Whether `claim` would succeed. */
  isFree(host: string, claimant: Claimant): boolean;
  put(host: string, tunnel: Tunnel): void;
  release(host: string, tunnel: Tunnel): void;
  /**
   * Tunnels whose very name has meanwhile been given to an edge or reserved by another account. A wildcard takes
   * nothing from those that are there (R5).
   */
  dispossessed(): Tunnel[];
}

/** @param monotonic milliseconds, see `Clock` */
export function makeEndpointHosts(table: RoutingTable, monotonic: () => number): EndpointHosts {
  const serving = new Map<string, Tunnel>();
  const kept = new Map<string, { readonly accountId: string; readonly until: number }>();

  /** Why configuration keeps `accountId` from the name, or undefined. */
  const reservation = (host: string, accountId: string, exactOnly: boolean): string | undefined => {
    const holder = table.hostHolder(host);
    if (!holder) return undefined;
    const exact = namesExactly(table.object(holder.kind, holder.id), host);
    if (!exact && (exactOnly || holder.accountId === accountId)) return undefined;
    if (holder.accountId !== accountId) return "it is not available";
    return holder.kind.endsWith("_edge") ? `the edge "${holder.id}" serves it` : undefined;
  };
  /** Why `claimant` cannot have the name, or undefined. Says nothing of other accounts. */
  const obstacle = (host: string, { accountId, credentialId }: Claimant): string | undefined => {
    const reserved = reservation(host, accountId, false);
    if (reserved !== undefined) return reserved;
    const holder = serving.get(host)?.session;
    if (holder?.credentialId === credentialId) return undefined;
    if (holder?.accountId === accountId) return `the tunnel session "${holder.id}" serves it`;
    const before = kept.get(host);
    const isKept = before !== undefined && before.accountId !== accountId && before.until > monotonic();
    return holder || isKept ? "it is not available" : undefined;
  };
  return {
    tunnel: (host) => serving.get(host),
    claim(host, claimant) {
      const why = obstacle(host, claimant);
      if (why !== undefined) throw new Refusal("agent_name_taken", `publish "${host}": ${why}`);
      return serving.get(host);
    },
    isFree: (host, claimant) => obstacle(host, claimant) === undefined,
    put(host, tunnel) {
      kept.delete(host);
      serving.set(host, tunnel);
    },
    release(host, tunnel) {
      if (serving.get(host) !== tunnel) return;
      serving.delete(host);
      kept.set(host, { accountId: tunnel.session.accountId, until: monotonic() + keptMs });
      // Insertion order is expiry order.
      for (const [name, { until }] of kept) {
        if (kept.size <= maxKept && until > monotonic()) break;
        kept.delete(name);
      }
    },
    dispossessed: () =>
      [...serving].flatMap(([host, tunnel]) =>
        reservation(host, tunnel.session.accountId, true) === undefined ? [] : [tunnel],
      ),
  };
}

/** Whether an edge or a reserved domain holds `host` itself and not through a wildcard. */
function namesExactly(holder: ResourceObject | undefined, host: string): boolean {
  if (!holder) return true;
  const { hostports, domain } = holder.doc;
  if (typeof domain === "string") return domain.toLowerCase() === host;
  return Array.isArray(hostports) && hostports.some((one) => String(one).toLowerCase().startsWith(`${host}:`));
}
