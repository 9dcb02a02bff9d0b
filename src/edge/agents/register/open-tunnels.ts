/** The tunnels that are open, each where traffic finds it: at a host name, at a port, or in the groups of its labels. */
import type { Log } from "../../../lib/log.ts";
import type { Upward } from "../../../routing/planes/messages.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { ConnectionSite } from "../../../routing/sites/compiled.ts";
import type { EndpointAddresses, PortRange } from "../names/addresses.ts";
import type { TunnelGroups } from "./groups.ts";
import type { EndpointHosts } from "../names/hosts.ts";
import type { SessionBook } from "./session-book.ts";
import { isAtPort, renderTunnel } from "../tunnels/tunnel.ts";
import type { Endpoint, Tunnel } from "../tunnels/tunnel.ts";

export interface TcpAddresses {
  readonly range: PortRange;
  /** Listens at the endpoint's port. `failed` is called at most once, when it cannot be had. */
  open(site: ConnectionSite, failed: (why: string) => void, isElsewhere?: boolean): void;
  close(site: ConnectionSite): void;
}

/** @param boundMs how long what is under way through it may go on; 0: it is cut */
export type TunnelClosed = (tunnel: Tunnel, boundMs: number) => void;

export interface OpenTunnelsOptions {
  readonly sessions: SessionBook;
  readonly hosts: EndpointHosts;
  /** Undefined where no tcp endpoints are published; the same holds for `tcp`. */
  readonly addresses: EndpointAddresses | undefined;
  readonly tcp: Pick<TcpAddresses, "open" | "close"> | undefined;
  readonly groups: TunnelGroups;
  /** How long what is under way through a tunnel may go on when its agent has taken it away, milliseconds. */
  readonly finishMs: number;
  readonly report: (message: Upward) => void;
  readonly region: string;
  /** What other edges are told of a tunnel; undefined where there are none. */
  readonly share: ((tunnel: Tunnel) => SharedTunnel) | undefined;
  readonly log: Log;
  /** Wakes another edge's tunnel that nobody has come for; undefined where there are no others. */
  readonly wake?: ((id: string) => void) | undefined;
}

/** Who serves a name. */
interface Holder {
  readonly accountId: string;
  readonly credentialId: string;
}

export interface OpenTunnels {
  byId(id: string): Tunnel | undefined;
  /** As `byId`, without waking it. */
  awake(id: string): Tunnel | undefined;
  /** Those that are awake. */
  all(): Iterable<Tunnel>;
  /** Its name or port must have been claimed. */
  open(tunnel: Tunnel): void;
  /** Another edge's, of the account, is there; nobody has come for it. Its name must have been claimed. */
  sleep(accountId: string): void;
  /** Somebody has come for one that sleeps. */
  woken(tunnel: Tunnel): void;
  /** One that sleeps is gone. */
  forget(name: string, holder: Holder): void;
  /** It serves another endpoint from now on, at the same place. */
  change(tunnel: Tunnel, endpoint: Endpoint, metadata: string): void;
  /** It has another endpoint by itself, at the same place. */
  changed(tunnel: Tunnel): void;
  /** Its agent knows, or is gone: what is under way is cut. Harmless when repeated. */
  close(tunnel: Tunnel): void;
  /** Its agent has taken it away: nothing more is sent through it, and what is under way may end by itself. */
  withdraw(tunnel: Tunnel): void;
  /** Closes it and tells its agent why. */
  stop(tunnel: Tunnel, message: string, reason: "agent_name_taken" | "agent_denied"): void;
  /** Called once for each tunnel when it is closed, for whatever reason. */
  onClosed(listener: TunnelClosed): void;
}

export function makeOpenTunnels(options: OpenTunnelsOptions): OpenTunnels {
  const { sessions, hosts, addresses, tcp, groups, report, region, share, wake, log } = options;
  const tunnels = new Map<string, Tunnel>();
  const listeners: TunnelClosed[] = [];

  /** Only the edge that has a tunnel tells of it. */
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
  const end = (tunnel: Tunnel, boundMs: number): void => {
    if (!tunnel.online) return;
    tunnel.online = false;
    tunnels.delete(tunnel.id);
    sessions.removeTunnel(tunnel);
    if (tunnel.name === "") groups.remove(tunnel);
    else unpublish(tunnel);
    const closed = { type: "tunnel_closed" as const, tunnelId: tunnel.id };
    if (!tunnel.isElsewhere) report(boundMs > 0 && share ? { ...closed, finishes: true } : closed);
    for (const listener of listeners) listener(tunnel, boundMs);
  };
  const close = (tunnel: Tunnel): void => end(tunnel, 0);
  const stop: OpenTunnels["stop"] = (tunnel, message, reason) => {
    close(tunnel);
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
    open(tunnel) {
      tunnels.set(tunnel.id, tunnel);
      sessions.addTunnel(tunnel);
      if (tunnel.name === "") groups.add(tunnel);
      else publish(tunnel);
      tellOpened(tunnel);
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
    close,
    withdraw: (tunnel) => end(tunnel, options.finishMs),
    stop,
    onClosed: (listener) => void listeners.push(listener),
  };
}

/** Undefined for what is found by a host name. */
function portOf({ name }: Tunnel): number | undefined {
  return name.startsWith(":") ? Number(name.slice(1)) : undefined;
}

/** Undefined where it does not compile here. */
function siteAtPort({ endpoint }: Tunnel): ConnectionSite | undefined {
  return endpoint && isAtPort(endpoint.site, endpoint.host) ? endpoint.site : undefined;
}
