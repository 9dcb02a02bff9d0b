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
  const hosts = new Map<string, NameHolder>();
  return {
    add({ id, accountId, endpoint }) {
      if (!endpoint) return;
      const { proto, publicUrl, pooled = false } = endpoint;
      const holder = { accountId, tunnelId: id, pooled: pooled ? proto : undefined };
      const hostport = hostportOf(publicUrl);
      const key = keyOf(hostport, accountId);
      hostports.set(key, [...(hostports.get(key) ?? []), holder]);
      if (proto !== "tcp" && !isInternalName(hostOf(hostport))) hosts.set(hostOf(hostport), holder);
    },
    remove({ id, accountId, endpoint }) {
      if (!endpoint) return;
      const hostport = hostportOf(endpoint.publicUrl);
      const key = keyOf(hostport, accountId);
      const rest = hostports.get(key)?.filter(({ tunnelId }) => tunnelId !== id) ?? [];
      if (rest.length > 0) hostports.set(key, rest);
      else hostports.delete(key);
      const host = hostOf(hostport);
      if (hosts.get(host)?.tunnelId !== id) return;
      if (rest[0]) hosts.set(host, rest[0]);
      else hosts.delete(host);
    },
    holderOfHostport(hostport, accountId) {
      const holders = hostports.get(keyOf(hostport, accountId)) ?? [];
      return holders.find(({ pooled }) => pooled === undefined) ?? holders[0];
    },
    hasForeignHost(name, accountId) {
      const holder = hosts.get(name);
      if (holder && holder.accountId !== accountId) return true;
      const base = wildcardBase(name);
      if (base === undefined) return false;
      for (const [host, { accountId: other }] of hosts) {
        if (other !== accountId && host.endsWith(`.${base}`)) return true;
      }
      return false;
    },
  };
}

/** Names of internal endpoints are each account's own. */
function keyOf(hostport: string, accountId: string): string {
  return isInternalName(hostOf(hostport)) ? `${hostport}#${accountId}` : hostport;
}
