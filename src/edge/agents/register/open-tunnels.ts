/** Open tunnels, indexed by host name, by port, and by the groups of their labels. */
import type { Log } from "../../../lib/log.ts";
import type { Upward } from "../../../routing/planes/messages.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { ConnectionSite } from "../../../routing/sites/compiled-site.ts";
import type { EndpointAddresses, PortRange } from "../names/endpoint-addresses.ts";
import type { TunnelGroups } from "./tunnel-groups.ts";
import type { EndpointHosts } from "../names/endpoint-hosts.ts";
import type { SessionBook } from "./session-book.ts";
import { isAtPort, renderTunnel } from "../tunnels/tunnel.ts";
import type { Endpoint, Tunnel } from "../tunnels/tunnel.ts";

export interface TcpAddresses {
  readonly range: PortRange;
  /** Listens at the endpoint's port. Calls `failed` at most once, if the port is taken. */
  open(site: ConnectionSite, failed: (why: string) => void, isElsewhere?: boolean): void;
  close(site: ConnectionSite): void;
}

/** @param boundMs how long requests and connections that use the tunnel may continue. 0 cuts them */
export type TunnelClosed = (tunnel: Tunnel, boundMs: number) => void;

export interface OpenTunnelsOptions {
  readonly sessions: SessionBook;
  readonly hosts: EndpointHosts;
  /** Undefined if no tcp endpoints are published. The same holds for `tcp`. */
  readonly addresses: EndpointAddresses | undefined;
  readonly tcp: Pick<TcpAddresses, "open" | "close"> | undefined;
  readonly groups: TunnelGroups;
  /** Maximum time for requests and connections to continue after the agent closed the tunnel, milliseconds. */
  readonly finishMs: number;
  readonly report: (message: Upward) => void;
  readonly region: string;
  /** Returns the data about a tunnel that other edges need. Undefined without other edges. */
  readonly share: ((tunnel: Tunnel) => SharedTunnel) | undefined;
  readonly log: Log;
  /** Makes an object of another edge's tunnel. Undefined without other edges. */
  readonly wake?: ((id: string) => void) | undefined;
}

/** The agent that serves a name. */
interface Holder {
  readonly accountId: string;
  readonly credentialId: string;
}

export interface OpenTunnels {
  byId(id: string): Tunnel | undefined;
  /** Like `byId`, without waking the tunnel. */
  awake(id: string): Tunnel | undefined;
  /** Returns all tunnels that are objects. */
  all(): Iterable<Tunnel>;
  /** Opens a tunnel whose name or port was claimed. */
  open(tunnel: Tunnel): void;
  /** Puts `next` in the place of a tunnel with the same id. Requests and connections of the former one may finish. */
  replace(tunnel: Tunnel, next: Tunnel): void;
  /** Counts a tunnel of another edge that is not an object yet. Its name must have been claimed. */
  sleep(accountId: string): void;
  /** Called when another edge's tunnel has become an object. */
  woken(tunnel: Tunnel): void;
  /** Forgets a closed tunnel of another edge that was never an object. */
  forget(name: string, holder: Holder): void;
  /** Replaces the endpoint of a tunnel of this edge, at the same name or port. */
  change(tunnel: Tunnel, endpoint: Endpoint, metadata: string): void;
  /** Called when the endpoint of another edge's tunnel was replaced, at the same name or port. */
  changed(tunnel: Tunnel): void;
  /** Closes a tunnel whose agent knows about it or has disconnected. Cuts requests and connections. May be repeated. */
  close(tunnel: Tunnel): void;
  /** Closes a tunnel on its agent's request: it gets no new requests, and those that use it may finish. */
  withdraw(tunnel: Tunnel): void;
  /** Closes a tunnel and sends its agent the reason. */
  stop(tunnel: Tunnel, message: string, reason: "agent_name_taken" | "agent_denied"): void;
  /** Calls `listener` once for each tunnel that closes, for any reason. */
  onClosed(listener: TunnelClosed): void;
}

export function makeOpenTunnels(options: OpenTunnelsOptions): OpenTunnels {
  const { sessions, hosts, addresses, tcp, groups, report, region, share, wake, log } = options;
  const tunnels = new Map<string, Tunnel>();
  const listeners: TunnelClosed[] = [];

  /** Only the edge that has a tunnel reports it. */
  const tellOpened = (tunnel: Tunnel): void => {
    if (tunnel.isElsewhere) return;
    const shared = share?.(tunnel);
    report({ type: "tunnel_opened", tunnel: renderTunnel(tunnel, region), ...(shared && { shared }) });
  };
  const publish = (tunnel: Tunnel): void => {
    const port = portOf(tunnel);
    if (port === undefined) {
      hosts.put(tunnel.name, tunnel);
      return;
    }
    addresses?.put(port, tunnel);
    const site = siteAtPort(tunnel);
    if (!site) return;
    const failed = (why: string): void => {
      addresses?.avoid(port);
      if (share) report({ type: "port_occupied", port });
      if (tunnel.isElsewhere) log.warn("port of a tunnel of another edge not opened", { tunnel: tunnel.id, port, why });
      else if (tunnel.online) stop(tunnel, `listen on port ${port}: ${why}`, "agent_name_taken");
    };
    tcp?.open(site, failed, tunnel.isElsewhere);
  };
  const unpublish = (tunnel: Tunnel): void => {
    const port = portOf(tunnel);
    if (port === undefined) {
      hosts.release(tunnel.name, tunnel);
      return;
    }
    addresses?.release(port, tunnel);
    const site = siteAtPort(tunnel);
    if (site) tcp?.close(site);
  };
  const remove = (tunnel: Tunnel, boundMs: number): void => {
    tunnel.online = false;
    tunnels.delete(tunnel.id);
    sessions.removeTunnel(tunnel);
    if (tunnel.name === "") groups.remove(tunnel);
    else unpublish(tunnel);
    for (const listener of listeners) listener(tunnel, boundMs);
  };
  const end = (tunnel: Tunnel, boundMs: number): void => {
    if (!tunnel.online) return;
    remove(tunnel, boundMs);
    const closed = { type: "tunnel_closed" as const, tunnelId: tunnel.id };
    if (!tunnel.isElsewhere) report(boundMs > 0 && share ? { ...closed, finishes: true } : closed);
  };
  const open = (tunnel: Tunnel): void => {
    tunnels.set(tunnel.id, tunnel);
    sessions.addTunnel(tunnel);
    if (tunnel.name === "") groups.add(tunnel);
    else publish(tunnel);
    tellOpened(tunnel);
  };
  const stop: OpenTunnels["stop"] = (tunnel, message, reason) => {
    end(tunnel, 0);
    log.info("tunnel stopped", { tunnel: tunnel.id, session: tunnel.session.id, why: message });
    tunnel.session.stopTunnel(tunnel.id, message, reason);
  };
  return {
    byId(id) {
      const tunnel = tunnels.get(id);
      if (tunnel || !wake) return tunnel;
      wake(id);
      return tunnels.get(id);
    },
    awake: (id) => tunnels.get(id),
    all: () => tunnels.values(),
    open,
    replace(tunnel, next) {
      remove(tunnel, options.finishMs);
      open(next);
    },
    sleep: (accountId) => sessions.countElsewhere(accountId, 1),
    woken(tunnel) {
      tunnels.set(tunnel.id, tunnel);
      publish(tunnel);
    },
    forget(name, holder) {
      sessions.countElsewhere(holder.accountId, -1);
      hosts.forget(name, holder);
    },
    change(tunnel, endpoint, metadata) {
      tunnel.endpoint = endpoint;
      tunnel.metadata = metadata;
      publish(tunnel);
      tellOpened(tunnel);
    },
    changed: publish,
    close: (tunnel) => end(tunnel, 0),
    withdraw: (tunnel) => end(tunnel, options.finishMs),
    stop,
    onClosed: (listener) => void listeners.push(listener),
  };
}

/** Returns undefined for a tunnel with a host name. */
function portOf({ name }: Tunnel): number | undefined {
  return name.startsWith(":") ? Number(name.slice(1)) : undefined;
}

/** Returns undefined if the endpoint does not compile here. */
function siteAtPort({ endpoint }: Tunnel): ConnectionSite | undefined {
  return endpoint && isAtPort(endpoint.site, endpoint.host) ? endpoint.site : undefined;
}
