/** Which public names agents serve now, whatever their account. */
import { internalKey, isInternalName } from "../../lib/internal-names.ts";
import { wildcardBase, wildcardsOver } from "../../lib/host-cover.ts";
import type { TunnelReport } from "../../routing/planes/messages.ts";
import { hostOf, hostportOf } from "./live-docs.ts";
import type { OtherAgents } from "./other-agents.ts";

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
  /** Whether an agent of another account serves `name`, a wildcard over it or, for a wildcard, a name below it. Lower case. */
  hasForeignHost(name: string, accountId: string): boolean;
}

/** Most names are one tunnel's: a list is made for those of several. */
type Serving = TunnelReport | readonly TunnelReport[];

/** @param others the agents of other nodes; undefined where there is none, or none yet */
export function makeAgentNames(others: () => OtherAgents | undefined): AgentNames {
  const serving = new Map<string, Serving>();
  const at = (key: string): readonly TunnelReport[] => {
    const reports = serving.get(key) ?? [];
    return "length" in reports ? reports : [reports];
  };
  const put = (key: string, reports: readonly TunnelReport[]): void => {
    const [only] = reports;
    if (!only) serving.delete(key);
    else serving.set(key, reports.length === 1 ? only : reports);
  };
  return {
    add(report) {
      const key = keyOf(report);
      if (key !== undefined) put(key, [...at(key), report]);
    },
    remove(report) {
      const key = keyOf(report);
      if (key === undefined) return;
      put(
        key,
        at(key).filter(({ id }) => id !== report.id),
      );
    },
    holderOfHostport(hostport, accountId) {
      const elsewhere = namedHosts(hostport, accountId).flatMap((host) => others()?.atHost(host) ?? []);
      const ofHost = [...at(hostOf(hostport)), ...elsewhere].filter(
        ({ endpoint }) => endpoint && hostportOf(endpoint.publicUrl) === hostport,
      );
      const holders = [...at(exactKey(hostport, accountId)), ...ofHost].map(holderOf);
      return holders.find(({ pooled }) => pooled === undefined) ?? holders[0];
    },
    hasForeignHost(name, accountId) {
      const isForeign = (one: TunnelReport): boolean => one.accountId !== accountId;
      const isHeld = (one: string): boolean => [...at(one), ...(others()?.atHost(one) ?? [])].some(isForeign);
      if ([name, ...wildcardsOver(name)].some(isHeld)) return true;
      const base = wildcardBase(name);
      if (base === undefined) return false;
      if (others()?.hasForeignBelow(base, accountId) === true) return true;
      for (const host of serving.keys()) if (host.endsWith(`.${base}`) && at(host).some(isForeign)) return true;
      return false;
    },
  };
}

function holderOf({ id, accountId, endpoint }: TunnelReport): NameHolder {
  return { accountId, tunnelId: id, pooled: endpoint?.pooled === true ? endpoint.proto : undefined };
}

/** The host of HTTP and TLS endpoints, whatever their port; host and port where a name is more than its host. */
function keyOf({ accountId, endpoint }: TunnelReport): string | undefined {
  if (!endpoint) return undefined;
  const hostport = hostportOf(endpoint.publicUrl);
  const host = hostOf(hostport);
  return endpoint.proto === "tcp" || isInternalName(host) ? exactKey(hostport, accountId) : host;
}

/** Under which hosts (see `hostOfName`) the claimed names are that serve an account's host and port. */
function namedHosts(hostport: string, accountId: string): string[] {
  const host = hostOf(hostport);
  if (!isInternalName(host)) return [host, hostport.slice(host.length)];
  const port = Number(hostport.slice(host.length + 1));
  const schemes = ["https", "http", "tcp"] as const;
  return [...new Set(schemes.map((scheme) => internalKey({ scheme, host, port }, accountId)))];
}

/** Addresses of TCP are their ports, and names of internal endpoints are each account's own. */
function exactKey(hostport: string, accountId: string): string {
  return isInternalName(hostOf(hostport)) ? `${hostport}#${accountId}` : hostport;
}
