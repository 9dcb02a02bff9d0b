/** The register of agents: who is connected, which tunnels they hold, and what those are published as. */
import type { Clock } from "../../lib/clock.ts";
import { timestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { modules } from "../../modules/index.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled.ts";
import type { SessionCommand, SessionReport, Upward } from "../../routing/planes/messages.ts";
import type { AgentSession, ServerHooks } from "../../tunnel/server-hooks.ts";
import { makeCredentials } from "./credentials.ts";
import type { Grant } from "./credentials.ts";
import { makeTunnelGroups } from "./groups.ts";
import type { Group, GroupPlan } from "./groups.ts";
import { makeEndpointAddresses } from "./addresses.ts";
import type { PortRange } from "./addresses.ts";
import { internalNameOf } from "../../lib/internal-names.ts";
import { makeEndpointHosts } from "./hosts.ts";
import type { AgentLimits } from "./limits.ts";
import { makeOpening } from "./opening.ts";
import { makeSessionBook } from "./session-book.ts";
import { renderTunnel } from "./tunnel.ts";
import type { Endpoint, Tunnel } from "./tunnel.ts";

export interface AgentRegistryOptions {
  readonly table: RoutingTable;
  readonly report: (message: Upward) => void;
  /** Endpoints without a name of their own are published below it. */
  readonly domain: string;
  /** The port in public URLs; asked for when a URL is made, as it may be known only once listening. */
  readonly advertisedHttpsPort: () => number;
  /** Whether names that are not below `domain` have to be reserved by the agent's account. */
  readonly requireReservedNames?: boolean | undefined;
  /** The same for plain HTTP; undefined where that is not served. */
  readonly advertisedHttpPort?: () => number | undefined;
  readonly region: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AgentLimits;
  /** As this edge runs them; every module, set as by default, unless given. */
  readonly modules?: readonly ModuleDeclaration[] | undefined;
  /** Where tcp endpoints are published; undefined: nowhere. */
  readonly tcp?: TcpAddresses | undefined;
}

export interface TcpAddresses {
  readonly range: PortRange;
  /** Listens at the endpoint's port. `failed` is called at most once, when it cannot be had. */
  open(site: ConnectionSite, failed: (why: string) => void): void;
  close(site: ConnectionSite): void;
}

export interface AgentRegistry extends ServerHooks {
  /** The endpoint published at a lower-case host name. An edge with exactly this name comes first. */
  siteFor(host: string): Site | undefined;
  /** As `siteFor`, for endpoints that are reached without TLS. */
  plainSiteFor(host: string): Site | undefined;
  /** As `siteFor`, for endpoints of whole TLS connections. */
  tlsSiteFor(host: string): ConnectionSite | undefined;
  /** The tcp endpoint at a port. */
  tcpSiteAt(port: number): ConnectionSite | undefined;
  tunnel(id: string): Tunnel | undefined;
  /** The online tunnels of a tunnel group backend. */
  group(plan: GroupPlan): Group;
  /** Called once for each tunnel when it is taken away, for whatever reason. */
  onTunnelClosed(listener: (tunnel: Tunnel) => void): void;
  /** Everything that is open, as the reports that tell of it: for a control plane that starts again. */
  snapshot(): readonly Upward[];
  /** Passes a command on to a session. Rejects with `Refusal` (not_found, command_*). */
  command(sessionId: string, command: SessionCommand): Promise<void>;
  /** Says goodbye to every agent. */
  close(reason: string): void;
}

/** After a change of edges or domains, endpoints that lost their name to it go within this time. */
const dispossessAfterMs = 250;
/** How often it is looked whether tokens of open sessions have expired. */
const expiryPeriodMs = 1_000;
/** What an account's restriction on agents is made of. */
const restricting = ["ip_restriction", "ip_policy", "ip_policy_rule"];

export function makeAgentRegistry(options: AgentRegistryOptions): AgentRegistry {
  const { table, report, region, clock, log, limits } = options;
  const credentials = makeCredentials(table, clock);
  const sessions = makeSessionBook();
  const hosts = makeEndpointHosts(
    table,
    () => clock.monotonic(),
    options.requireReservedNames ? options.domain : undefined,
  );
  const groups = makeTunnelGroups();
  const { tcp } = options;
  const addresses = tcp && makeEndpointAddresses(table, options.domain, tcp.range, () => clock.monotonic());
  const opening = makeOpening({ ...options, modules: options.modules ?? modules, hosts, addresses });
  const tunnels = new Map<string, Tunnel>();
  const listeners: ((tunnel: Tunnel) => void)[] = [];

  const grantOf = (session: AgentSession): Grant => {
    const grant = sessions.has(session) ? credentials.current(session.credentialId) : undefined;
    if (!grant) throw new Refusal("agent_token_unknown");
    return grant;
  };
  const demandRoom = (session: AgentSession, id: string): void => {
    if (tunnels.get(id)?.session === session) return;
    const { inSession, inAccount } = sessions.tunnelCounts(session);
    if (inSession >= limits.tunnelsPerSession) throw new Refusal("agent_limit");
    if (inAccount >= limits.tunnelsPerAccount) {
      throw new Refusal("agent_limit", `open a tunnel: the account holds ${inAccount}, as many as it may`);
    }
  };
  /** The tunnel that has the id already; it is the same one, from before a reconnect. */
  const earlier = (session: AgentSession, id: string): Tunnel | undefined => {
    const tunnel = tunnels.get(id);
    if (tunnel && tunnel.session.credentialId !== session.credentialId) {
      throw new Refusal("agent_request_invalid", `open a tunnel with the id "${id}": it is not yours`);
    }
    return tunnel;
  };
  const publish = (tunnel: Tunnel, { host, port, site }: Endpoint): void => {
    if (site.kind !== "tcp_endpoint") {
      hosts.put(host, tunnel);
      return;
    }
    addresses?.put(port, tunnel);
    tcp?.open(site, (why) => {
      addresses?.avoid(port);
      if (tunnel.online) stop(tunnel, `port ${port} cannot be listened on: ${why}`, "agent_name_taken");
    });
  };
  const withdraw = (tunnel: Tunnel, { host, port, site }: Endpoint): void => {
    if (site.kind !== "tcp_endpoint") {
      hosts.release(host, tunnel);
      return;
    }
    addresses?.release(port, tunnel);
    tcp?.close(site);
  };
  const put = (tunnel: Tunnel): void => {
    tunnels.set(tunnel.id, tunnel);
    sessions.addTunnel(tunnel);
    if (tunnel.endpoint) publish(tunnel, tunnel.endpoint);
    else groups.add(tunnel);
    report({ type: "tunnel_opened", tunnel: renderTunnel(tunnel, region) });
  };
  const take = (tunnel: Tunnel): void => {
    if (!tunnel.online) return;
    tunnel.online = false;
    tunnels.delete(tunnel.id);
    sessions.removeTunnel(tunnel);
    if (tunnel.endpoint) withdraw(tunnel, tunnel.endpoint);
    else groups.remove(tunnel);
    report({ type: "tunnel_closed", tunnelId: tunnel.id });
    for (const listener of listeners) listener(tunnel);
  };
  const stop = (tunnel: Tunnel, message: string, reason: "agent_name_taken" | "agent_denied"): void => {
    take(tunnel);
    log.info("tunnel stopped", { tunnel: tunnel.id, session: tunnel.session.id, why: message });
    tunnel.session.stopTunnel(tunnel.id, message, reason);
  };
  const leave = (session: AgentSession): void => {
    const held = sessions.remove(session);
    if (!held) return;
    for (const tunnel of held) take(tunnel);
    report({ type: "session_closed", sessionId: session.id });
    log.info("agent disconnected", { session: session.id });
  };

  const httpSite = (host: string, proto: "https" | "http"): Site | undefined => {
    const endpoint = hosts.tunnel(host)?.endpoint;
    return endpoint?.proto === proto && "findRoute" in endpoint.site ? endpoint.site : undefined;
  };
  let looking = false;
  const dispossess = (): void => {
    looking = false;
    for (const tunnel of [...hosts.dispossessed(), ...(addresses?.dispossessed() ?? [])]) {
      stop(tunnel, `"${tunnel.endpoint?.url}" now belongs to the configuration`, "agent_name_taken");
    }
  };
  const admits = (accountId: string, ip: string): boolean =>
    table.restriction(accountId, "agent")?.(ip).answer === undefined;
  const expelOutsiders = (): void => {
    for (const session of sessions.all()) {
      if (admits(session.accountId, session.ip)) continue;
      log.info("agent's address no longer allowed", { session: session.id, ip: session.ip });
      leave(session);
      session.close("the account's IP restriction does not admit this address");
    }
  };
  let watching = false;
  /** Ends the sessions of expired tokens, and looks again while there are some that will expire. */
  const watchExpiry = (): void => {
    const now = clock.now();
    watching = false;
    for (const session of sessions.all()) {
      const expiresAtMs = credentials.current(session.credentialId)?.expiresAtMs;
      if (expiresAtMs === undefined) continue;
      if (expiresAtMs > now) {
        watching = true;
        continue;
      }
      log.info("agent's token expired", { session: session.id, credential: session.credentialId });
      leave(session);
      session.close("the agent token has expired");
    }
    if (watching) clock.after(expiryPeriodMs, watchExpiry);
  };
  table.subscribe(({ credentialIds, kinds }) => {
    if (restricting.some((kind) => kinds.has(kind))) expelOutsiders();
    for (const credentialId of credentialIds) {
      const affected = sessions.ofCredential(credentialId);
      const grant = credentials.refresh(credentialId);
      for (const session of affected) {
        if (grant) {
          const denied = sessions.tunnelsOf(session).filter((tunnel) => !allows(grant, tunnel));
          for (const tunnel of denied) stop(tunnel, "the token's ACL no longer allows it", "agent_denied");
          continue;
        }
        log.info("agent's token revoked", { session: session.id, credential: credentialId });
        leave(session);
        session.close("the agent token was revoked");
      }
    }
    if (looking || ![...kinds].some((kind) => kind.endsWith("_edge") || kind.startsWith("reserved_"))) return;
    looking = true;
    clock.after(dispossessAfterMs, dispossess);
  });

  return {
    authenticate(request) {
      const grant = credentials.authenticate(request);
      if (!admits(grant.accountId, request.ip)) {
        throw new Refusal("agent_source_denied");
      }
      const resumed = sessions.byId(request.resumes);
      if (resumed && resumed.credentialId !== grant.credentialId) throw new Refusal("agent_token_unknown");
      if (!resumed && sessions.countOfAccount(grant.accountId) >= limits.sessionsPerAccount) {
        throw new Refusal("agent_limit", "connect an agent: the account has as many sessions as it may");
      }
      const { accountId, credentialId } = grant;
      return { accountId, credentialId, accountName: table.accountName(accountId) };
    },
    opened(session) {
      const former = sessions.byId(session.id);
      if (former) leave(former);
      if (!credentials.current(session.credentialId)) {
        session.close("the agent token was revoked");
        return;
      }
      sessions.add(session);
      report({ type: "session_opened", session: renderSession(session, region) });
      if (!watching) watchExpiry();
      log.info("agent connected", { session: session.id, credential: session.credentialId, ip: session.ip });
    },
    bind(session, id, request, asked) {
      const grant = grantOf(session);
      demandRoom(session, id);
      const before = earlier(session, id);
      const opened = opening.endpoint(grant, session, id, request, asked);
      if ("ask" in opened) return opened;
      const { tunnel, replaces } = opened;
      if (before) take(before);
      if (replaces?.online) stop(replaces, `a newer session of the same credential serves it`, "agent_name_taken");
      put(tunnel);
      const { host, port, url, proto } = tunnel.endpoint as Endpoint;
      const isTcp = proto === "tcp";
      return { url, hostname: isTcp ? "" : internalNameOf(host), address: isTcp ? `${host}:${port}` : "" };
    },
    label(session, id, request) {
      const grant = grantOf(session);
      demandRoom(session, id);
      const before = earlier(session, id);
      const tunnel = opening.labelled(grant, session, id, request);
      if (before) take(before);
      put(tunnel);
    },
    unbind(session, tunnelId) {
      const tunnel = tunnels.get(tunnelId);
      if (tunnel?.session === session) take(tunnel);
    },
    closed: leave,
    siteFor: (host) => httpSite(host, "https"),
    plainSiteFor: (host) => httpSite(host, "http"),
    tlsSiteFor(host) {
      const site = hosts.tunnel(host)?.endpoint?.site;
      return site && "connection" in site ? site : undefined;
    },
    tcpSiteAt(port) {
      const site = addresses?.tunnel(port)?.endpoint?.site;
      return site && "connection" in site ? site : undefined;
    },
    tunnel: (id) => tunnels.get(id),
    group: (plan) => groups.of(plan),
    onTunnelClosed: (listener) => void listeners.push(listener),
    snapshot: () => [
      ...sessions
        .all()
        .map((session) => ({ type: "session_opened" as const, session: renderSession(session, region) })),
      ...[...tunnels.values()].map((tunnel) => ({
        type: "tunnel_opened" as const,
        tunnel: renderTunnel(tunnel, region),
      })),
    ],
    async command(sessionId, command) {
      const session = sessions.byId(sessionId);
      if (!session)
        throw new Refusal("not_found", `command the tunnel session "${sessionId}": it is not connected here`);
      await session.command(command);
    },
    close(reason) {
      for (const session of sessions.all()) session.close(reason);
    },
  };
}

function allows({ acl }: Grant, { endpoint, labels }: Tunnel): boolean {
  if (endpoint) return acl.allowsHost(internalNameOf(endpoint.host), endpoint.port);
  return Object.entries(labels ?? {}).every(([name, value]) => acl.allowsLabel(name, value));
}

function renderSession(session: AgentSession, region: string): SessionReport {
  return {
    id: session.id,
    accountId: session.accountId,
    credentialId: session.credentialId,
    agentVersion: session.agentVersion,
    ip: session.ip,
    os: session.os,
    metadata: session.metadata,
    region,
    startedAt: timestamp(session.startedAt),
    transport: "ngrok/2",
  };
}
