/** Which public names agents serve now, whatever their account. */
import { wildcardBase } from "../../lib/host-cover.ts";
import type { TunnelReport } from "../../routing/planes/messages.ts";
import { hostOf, hostportOf } from "./live-docs.ts";

export interface NameHolder {
  readonly accountId: string;
  readonly tunnelId: string;
}

export interface AgentNames {
  add(report: TunnelReport): void;
  /** Harmless when another tunnel has taken the name since. */
  remove(report: TunnelReport): void;
  /** Whether an agent holds this host and port now, and for which account. */
  holderOfHostport(hostport: string): NameHolder | undefined;
  /** Whether an agent of another account serves `name` or, for a wildcard, a name below it. Lower case. */
  hasForeignHost(name: string, accountId: string): boolean;
}

export function makeAgentNames(): AgentNames {
  const hostports = new Map<string, NameHolder>();
  /** Hosts of HTTP and TLS endpoints, whatever their port; an address of TCP is its port. */
  const hosts = new Map<string, NameHolder>();
  return {
    add({ id, accountId, endpoint }) {
      if (!endpoint) return;
      const holder = { accountId, tunnelId: id };
      const hostport = hostportOf(endpoint.publicUrl);
      hostports.set(hostport, holder);
      if (endpoint.proto !== "tcp") hosts.set(hostOf(hostport), holder);
    },
    remove({ id, endpoint }) {
      if (!endpoint) return;
      const hostport = hostportOf(endpoint.publicUrl);
      if (hostports.get(hostport)?.tunnelId === id) hostports.delete(hostport);
      const host = hostOf(hostport);
      if (hosts.get(host)?.tunnelId === id) hosts.delete(host);
    },
    holderOfHostport: (hostport) => hostports.get(hostport),
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
