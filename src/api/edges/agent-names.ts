/** Which public names agents serve now, whatever their account. */
import { isInternalName } from "../../lib/internal-names.ts";
import { wildcardBase } from "../../lib/host-cover.ts";
import type { TunnelReport } from "../../routing/planes/messages.ts";
import { hostOf, hostportOf } from "./live-docs.ts";

export interface NameHolder {
  readonly accountId: string;
  readonly tunnelId: string;
  /** What it serves, where others may serve it beside it: `https`. */
  readonly pooled: string | undefined;
}

export interface AgentNames {
  add(report: TunnelReport): void;
  /** Harmless when another tunnel has taken the name since. */
  remove(report: TunnelReport): void;
  /** Whether an agent holds this host and port now, and for which account. */
  holderOfHostport(hostport: string, accountId: string): NameHolder | undefined;
  /** Whether an agent of another account serves `name` or, for a wildcard, a name below it. Lower case. */
  hasForeignHost(name: string, accountId: string): boolean;
}

export function makeAgentNames(): AgentNames {
  const hostports = new Map<string, readonly NameHolder[]>();
  /** Hosts of HTTP and TLS endpoints, whatever their port; an address of TCP is its port. */
  const hosts = new Map<string, readonly NameHolder[]>();
  return {
    add({ id, accountId, endpoint }) {
      if (!endpoint) return;
      const { proto, publicUrl, pooled = false } = endpoint;
      const holder = { accountId, tunnelId: id, pooled: pooled ? proto : undefined };
      const hostport = hostportOf(publicUrl);
      const key = keyOf(hostport, accountId);
      put(hostports, key, [...(hostports.get(key) ?? []), holder]);
      if (proto !== "tcp" && !isInternalName(hostOf(hostport)))
        put(hosts, hostOf(hostport), [...(hosts.get(hostOf(hostport)) ?? []), holder]);
    },
    remove({ id, accountId, endpoint }) {
      if (!endpoint) return;
      const hostport = hostportOf(endpoint.publicUrl);
      const key = keyOf(hostport, accountId);
      const without = (holders: readonly NameHolder[] = []) => holders.filter(({ tunnelId }) => tunnelId !== id);
      put(hostports, key, without(hostports.get(key)));
      const host = hostOf(hostport);
      put(hosts, host, without(hosts.get(host)));
    },
    holderOfHostport(hostport, accountId) {
      const holders = hostports.get(keyOf(hostport, accountId)) ?? [];
      return holders.find(({ pooled }) => pooled === undefined) ?? holders[0];
    },
    hasForeignHost(name, accountId) {
      const isForeign = (one: NameHolder): boolean => one.accountId !== accountId;
      if (hosts.get(name)?.some(isForeign) === true) return true;
      const base = wildcardBase(name);
      if (base === undefined) return false;
      for (const [host, holders] of hosts) {
        if (host.endsWith(`.${base}`) && holders.some(isForeign)) return true;
      }
      return false;
    },
  };
}

function put(map: Map<string, readonly NameHolder[]>, key: string, holders: readonly NameHolder[]): void {
  if (holders.length > 0) map.set(key, holders);
  else map.delete(key);
}

/** Names of internal endpoints are each account's own. */
function keyOf(hostport: string, accountId: string): string {
  return isInternalName(hostOf(hostport)) ? `${hostport}#${accountId}` : hostport;
}
