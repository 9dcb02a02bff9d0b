/** Finds the agents that serve a public host, in all accounts. */
import { wildcardBase, wildcardsOver } from "../lib/host-cover.ts";
import { hostOfName } from "../lib/plain-names.ts";
import { nameAt } from "./news.ts";
import type { Agents } from "./replica.ts";
import { hostportOf } from "./agent-reports.ts";
import type { TunnelReport } from "./agent-reports.ts";

/** The agent that serves a host and port. */
export interface HostportHolder {
  readonly accountId: string;
  readonly tunnelId: string;
  /** Protocol whose other endpoints may share the URL, such as `https`. */
  readonly pooled: string | undefined;
}

/**
 * Returns the agent that serves a host and port, from an account's view: names of internal endpoints belong to one
 * account.
 */
export function findHolder(agents: readonly Agents[], hostport: string, accountId: string): HostportHolder | undefined {
  const schemes = ["https", "http", "tcp"] as const;
  const hosts = new Set(schemes.map((scheme) => hostOfName(nameAt(scheme, hostport, accountId))));
  const holders = agents
    .flatMap((one) => [...hosts].flatMap((host) => one.findAtHost(host)))
    .filter(({ endpoint }) => endpoint && hostportOf(endpoint.publicUrl) === hostport)
    .map(holderOf);
  return holders.find(({ pooled }) => pooled === undefined) ?? holders[0];
}

/** Whether an agent of another account serves `name`, a wildcard over it or, for a wildcard, a name below it. Lower case. */
export function hasForeignHost(agents: readonly Agents[], name: string, accountId: string): boolean {
  const hosts = [name, ...wildcardsOver(name)];
  const base = wildcardBase(name);
  return agents.some(
    (one) =>
      hosts.some((host) => one.findAtHost(host).some((tunnel) => tunnel.accountId !== accountId)) ||
      (base !== undefined && one.hasForeignBelow(base, accountId)),
  );
}

function holderOf({ id, accountId, endpoint }: TunnelReport): HostportHolder {
  return { accountId, tunnelId: id, pooled: endpoint?.pooled === true ? endpoint.proto : undefined };
}
