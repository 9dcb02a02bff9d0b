/** The public names that tunnels serve: the name in a tunnel's entry, and who serves a host. */
import { wildcardBase, wildcardsOver } from "../lib/host-cover.ts";
import { internalKey, isInternalName } from "../lib/internal-names.ts";
import type { InternalScheme } from "../lib/internal-names.ts";
import { hostOfName, nameOf } from "../lib/plain-names.ts";
import type { TunnelEntry } from "./news.ts";
import type { AgentReader } from "./reader.ts";
import type { TunnelReport } from "./reports.ts";

/** Host and port of a public URL. */
export function hostportOf(publicUrl: string): string {
  const url = new URL(publicUrl);
  const port = url.port === "" ? { "http:": "80", "https:": "443", "tls:": "443" }[url.protocol] : url.port;
  return `${url.hostname}:${port ?? "0"}`;
}

export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":"));
}

/** The name that the tunnel claims, see `Claim`; "" for a tunnel with labels. */
export function nameOfEntry({ tunnel, shared }: TunnelEntry): string {
  if (shared) return shared.endpoint?.name ?? "";
  if (!tunnel?.endpoint) return "";
  const { proto, publicUrl } = tunnel.endpoint;
  return nameAt(proto, hostportOf(publicUrl), tunnel.accountId);
}

function nameAt(proto: InternalScheme, hostport: string, accountId: string): string {
  const host = hostOf(hostport);
  const port = Number(hostport.slice(host.length + 1));
  if (isInternalName(host)) return nameOf(proto, internalKey({ scheme: proto, host, port }, accountId));
  return proto === "tcp" ? `:${port}` : nameOf(proto, host);
}

/** The agent that serves a host and port. */
export interface HostportHolder {
  readonly accountId: string;
  readonly tunnelId: string;
  /** The protocol whose other endpoints may share the URL, such as `https`. */
  readonly pooled: string | undefined;
}

/** The agent that serves a host and port, as seen by an account: names of internal endpoints belong to one account. */
export function findHolder(
  agents: readonly AgentReader[],
  hostport: string,
  accountId: string,
): HostportHolder | undefined {
  const schemes = ["https", "http", "tcp"] as const;
  const hosts = new Set(schemes.map((scheme) => hostOfName(nameAt(scheme, hostport, accountId))));
  const holders = agents
    .flatMap((one) => [...hosts].flatMap((host) => one.atHost(host)))
    .filter(({ endpoint }) => endpoint && hostportOf(endpoint.publicUrl) === hostport)
    .map(holderOf);
  return holders.find(({ pooled }) => pooled === undefined) ?? holders[0];
}

/** Whether an agent of another account serves `name`, a wildcard over it or, for a wildcard, a name below it. Lower case. */
export function hasForeignHost(agents: readonly AgentReader[], name: string, accountId: string): boolean {
  const hosts = [name, ...wildcardsOver(name)];
  const base = wildcardBase(name);
  return agents.some(
    (one) =>
      hosts.some((host) => one.atHost(host).some((tunnel) => tunnel.accountId !== accountId)) ||
      (base !== undefined && one.hasForeignBelow(base, accountId)),
  );
}

function holderOf({ id, accountId, endpoint }: TunnelReport): HostportHolder {
  return { accountId, tunnelId: id, pooled: endpoint?.pooled === true ? endpoint.proto : undefined };
}
