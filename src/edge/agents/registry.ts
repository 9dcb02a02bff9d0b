/** The register of agents: the connected sessions, their tunnels, and the endpoints of the tunnels. */
import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { nameOf } from "../../lib/plain-names.ts";
import { modules } from "../../modules/index.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import type { ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled-site.ts";
import type { AgentCommand, Downward, Upward } from "../../routing/planes/messages.ts";
import type { AgentEndpoint } from "../../routing/planes/edge-questions.ts";
import type { AgentSession, ServerHooks } from "../../tunnel/server-hooks.ts";
import type { PeerHost } from "../peers/arriving-stream.ts";
import type { Peers } from "../peers/peers.ts";
import { makeAgentInboxes } from "./agent-inboxes.ts";
import type { AgentInboxes } from "./agent-inboxes.ts";
import { makeCredentials } from "./opening/agent-credentials.ts";
import { makeExchangeTurns } from "./exchange-turns.ts";
import { makeTunnelGroups } from "./register/tunnel-groups.ts";
import type { TunnelGroup, GroupPlan } from "./register/tunnel-groups.ts";
import { makeEndpointAddresses } from "./names/endpoint-addresses.ts";
import { enforceConfiguration } from "./enforcement.ts";
import { followElsewhere } from "./remote/elsewhere.ts";
import type { Elsewhere } from "./remote/elsewhere.ts";
import { makeEndpointHosts } from "./names/endpoint-hosts.ts";
import { makeJoining } from "./joining.ts";
import type { Joining } from "./joining.ts";
import type { AgentLimits } from "./tunnels/agent-limits.ts";
import { makeOpenTunnels } from "./register/open-tunnels.ts";
import type { OpenTunnels, TcpAddresses, TunnelClosed } from "./register/open-tunnels.ts";
import { makeOpening } from "./opening/opening.ts";
import { makeParking } from "./parking.ts";
import type { ParkedTunnels } from "./parking.ts";
import { makeProtocolHooks, newerSession, renderSession } from "./protocol-hooks.ts";
import { makeSessionBook } from "./register/session-book.ts";
import { listPublishedEndpoints } from "./published-endpoints.ts";
import type { SessionBook } from "./register/session-book.ts";
import { makeSharedNames } from "./names/shared-names.ts";
import type { SharedNames } from "./names/shared-names.ts";
import { claimedName, isAtPort, renderTunnel, shareTunnel } from "./tunnels/tunnel.ts";
import type { Tunnel } from "./tunnels/tunnel.ts";

export interface AgentRegistryOptions {
  readonly table: RoutingTable;
  readonly report: (message: Upward) => void;
  /** Domain of endpoints that request no host name. */
  readonly domain: string;
  /** See `ServerNames`. */
  readonly idpHost?: string | undefined;
  /** Returns the port in public URLs. It may be unknown until the server listens. */
  readonly advertisedHttpsPort: () => number;
  /** Whether names that are not below `domain` have to be reserved by the agent's account. */
  readonly requireReservedNames?: boolean | undefined;
  /** The same for plain HTTP. Undefined if the server has no plain HTTP. */
  readonly advertisedHttpPort?: () => number | undefined;
  readonly region: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AgentLimits;
  /** The modules of this edge. Default: all modules with their default settings. */
  readonly modules?: readonly ModuleDeclaration[] | undefined;
  /** Undefined if the server offers no tcp endpoints. */
  readonly tcp?: TcpAddresses | undefined;
  /** The lines to other edges. Undefined without other edges. */
  readonly others?: { readonly peers: Peers } | undefined;
}

/** The part of a register that shares names with other edges. */
export interface SharedRegister {
  readonly names: SharedNames;
  readonly elsewhere: Elsewhere;
  /** Called when another edge has the tunnel, because its agent `moved` there, or has another tunnel with its name. */
  tunnelTaken(taken: Extract<Downward, { readonly type: "tunnel_taken" }>): void;
  /** Called when the session continues at another edge. */
  sessionTaken(taken: Extract<Downward, { readonly type: "session_taken" }>): void;
}

export interface AgentRegistry extends ServerHooks {
  /** Returns the endpoint published at a lower-case host name. An edge with exactly this name comes first. */
  siteFor(host: string): Site | undefined;
  /** Like `siteFor`, and also for endpoints of whole TLS connections. */
  secureAt(host: string): Site | ConnectionSite | undefined;
  /** Like `siteFor`, for endpoints without TLS. */
  plainSiteFor(host: string): Site | undefined;
  /** Like `siteFor`, for endpoints of whole TLS connections. */
  tlsSiteFor(host: string): ConnectionSite | undefined;
  /** Returns the tcp endpoint at a port. */
  tcpSiteAt(port: number): ConnectionSite | undefined;
  /** Returns all tunnels that share a host name. A change creates a new list. */
  pool(host: string): readonly Tunnel[];
  tunnel(id: string): Tunnel | undefined;
  /** Returns the endpoints of the account's agents, at this edge and at others, up to a bound. */
  endpointsOf(accountId: string): readonly AgentEndpoint[];
  /** Returns the online tunnels of a tunnel group backend. */
  group(plan: GroupPlan): TunnelGroup;
  /** Calls `listener` once for each tunnel that closes. */
  onTunnelClosed(listener: TunnelClosed): void;
  /** Returns reports of everything that is open, for a restarted control plane. */
  snapshot(): readonly Upward[];
  /** Returns the connected sessions. */
  sessions(): readonly AgentSession[];
  /** Sends a command to a session, see `AgentSession.command`. Rejects with `Refusal`, such as not_found and exchange_busy. */
  command(sessionId: string, command: AgentCommand): Promise<string | undefined>;
  /** Receives the control plane's answer to an agent that wants to join, see `Joining`. */
  joined: Joining["joined"];
  /** Receives the control plane's answer about an agent's inbox, see `AgentInboxes`. */
  inboxAnswered: AgentInboxes["answered"];
  /** Receives the messages of the control plane about other edges. */
  readonly shared: SharedRegister | undefined;
  /**
   * Returns how many sessions an agent should have at a server with this number of edges, including one at another
   * node.
   */
  sessionsPerAgent(edges: number): number;
  /** Returns the number of nodes, including this one. */
  nodeCount(): number;
  /**
   * Returns an id that is the same at every edge of this node.
   * @param edgeId of this edge
   */
  nodeId(edgeId: string): string;
  /**
   * Returns a text that differs when another edge of this node has started.
   * @param edgeId of this edge
   */
  edgeSet(edgeId: string): string;
  /** Answers the questions of other edges. */
  readonly peerHost: Pick<PeerHost, "openProxy" | "ask" | "tellTimes">;
  /**
   * Returns a function that returns whether the agent of a session has all tunnels of this session at another node. The
   * function does not follow later changes at other nodes.
   */
  servedElsewhere(): (session: AgentSession) => boolean;
  /** Closes the session's tunnels. Requests and connections that use them may finish. */
  withdraw(session: AgentSession): void;
  /**
   * The same for the only session of an agent, which then connects elsewhere. Visitors of tunnels that no other agent
   * serves at another node wait until the agent has opened them there. Returns undefined if there are no such tunnels.
   */
  park(session: AgentSession): ParkedTunnels | undefined;
  /** Says goodbye to every agent and closes all sessions. */
  close(reason: string): void;
}

const edgeSetLength = 16;

export function makeAgentRegistry(options: AgentRegistryOptions): AgentRegistry {
  const { table, report, region, clock, log, limits, domain, tcp, others } = options;
  const monotonic = (): number => clock.monotonic();
  const credentials = makeCredentials(table, clock);
  const sessions = makeSessionBook();
  const wakeName = others && ((name: string): void => elsewhere?.wake(name));
  const wake = others && ((id: string): void => elsewhere?.wakeTunnel(id));
  const hosts = makeEndpointHosts(table, monotonic, wakeName, options.requireReservedNames ? domain : undefined);
  const groups = makeTunnelGroups();
  const addresses = tcp && makeEndpointAddresses(table, domain, tcp.range, monotonic);
  const share = others && ((tunnel: Tunnel) => shareTunnel(tunnel, opening.requestOf(tunnel)));
  const tunnels = makeOpenTunnels({
    sessions,
    hosts,
    addresses,
    tcp,
    groups,
    report,
    region,
    share,
    wake,
    log,
    finishMs: limits.finishMs,
  });
  const leave = (session: AgentSession): void => {
    const held = sessions.remove(session);
    if (!held) return;
    for (const tunnel of held) tunnels.close(tunnel);
    report({ type: "session_closed", sessionId: session.id });
    log.info("agent disconnected", { session: session.id });
  };
  const shared = { table, credentials, sessions, tunnels, leave, log };
  const { watchExpiry } = enforceConfiguration({ ...shared, hosts, addresses, clock });
  const opening = makeOpening({ ...options, modules: options.modules ?? modules, hosts, addresses });
  const wasHere = ({ endpoint, session }: Tunnel): boolean => {
    if (!endpoint) return true;
    const { site, host, port } = endpoint;
    if (isAtPort(site, host)) return addresses?.isLastHere(port, session) === true;
    return hosts.isLastHere(claimedName(endpoint), session);
  };
  const avoidPort = (port: number): void => addresses?.avoid(port);
  const elsewhere = others && followElsewhere({ ...others, tunnels, opening, isAwake: hosts.isAwake, avoidPort, log });
  const names = others && makeSharedNames({ report, clock, wasHere });
  const exchangeTurns = makeExchangeTurns(limits);
  const asides = {
    joining: makeJoining(report, clock),
    agentInboxes: makeAgentInboxes({ ...options, credentials }),
  };
  const otherNodes = (): number => elsewhere?.nodeCount() ?? 0;
  const edgesHere = (edgeId: string): string[] => [edgeId, ...(elsewhere?.siblings() ?? [])].sort();
  return {
    ...makeProtocolHooks({ ...shared, ...asides, opening, names, elsewhere, limits, region, report, watchExpiry }),
    joined: asides.joining.joined,
    inboxAnswered: asides.agentInboxes.answered,
    shared: names && elsewhere && { names, elsewhere, ...makeTakings(shared) },
    peerHost: {
      openProxy(header, take) {
        const tunnel = tunnels.byId(header.tunnelId);
        if (tunnel?.isElsewhere === false) return tunnel.session.openProxy(header, take);
        // At most one hop: if the tunnel has moved again, the visitor's edge finds it.
        take(undefined, "tunnel_gone");
        return undefined;
      },
      ask(sessionId, done) {
        const session = sessions.byId(sessionId);
        if (session) session.ask(done);
        else done(false);
      },
      tellTimes: (sessionId, times) => sessions.byId(sessionId)?.tellTimes(times),
    },
    sessionsPerAgent: (edges) => Math.max(edges, Math.min(1 + otherNodes(), 2)),
    nodeCount: () => 1 + otherNodes(),
    nodeId: (edgeId) => edgesHere(edgeId)[0] as string,
    edgeSet: (edgeId) => hash("sha256", edgesHere(edgeId).join(), "base64url").slice(0, edgeSetLength),
    siteFor: (host) => httpSite(hosts.tunnel(host), "https"),
    secureAt: (host) => siteOverTls(hosts.tunnel(host)),
    plainSiteFor: (host) => httpSite(hosts.tunnel(nameOf("http", host)), "http"),
    tlsSiteFor: (host) => connectionSite(hosts.tunnel(host)),
    tcpSiteAt: (port) => connectionSite(addresses?.tunnel(port)),
    pool: hosts.tunnels,
    tunnel: tunnels.byId,
    endpointsOf: (accountId) => listPublishedEndpoints({ accountId, sessions, opening, elsewhere }),
    group: groups.of,
    onTunnelClosed: tunnels.onClosed,
    snapshot: () => reportsOf(sessions, tunnels, region),
    sessions: () => sessions.all(),
    command: makeCommands(sessions, exchangeTurns),
    servedElsewhere() {
      const served = elsewhere?.agentsAtNodes();
      return (session) => isServed(session, sessions.tunnelsOf(session).length, served);
    },
    withdraw(session) {
      for (const tunnel of sessions.tunnelsOf(session)) tunnels.withdraw(tunnel);
    },
    park: makeParking({ ...options, hosts, groups, sessions, tunnels, opening, leave }),
    close(reason) {
      for (const session of sessions.all()) session.close(reason);
    },
  };
}

/** @param served agents at other nodes with the number of tunnels of their largest session there */
function isServed({ agentId }: AgentSession, count: number, served: ReadonlyMap<string, number> | undefined): boolean {
  // An agent with a single session takes its tunnels with it.
  return agentId === "" ? count === 0 : (served?.get(agentId) ?? 0) >= Math.max(1, count);
}

function makeCommands(sessions: SessionBook, turns: ReturnType<typeof makeExchangeTurns>): AgentRegistry["command"] {
  return async (sessionId, command) => {
    const session = sessions.byId(sessionId);
    if (!session) throw new Refusal("not_found", `command the tunnel session "${sessionId}": it is not connected here`);
    if (command.name !== "exchange" && command.name !== "replay") return await session.command(command);
    return await turns.take(session.accountId, () => session.command(command));
  };
}

/** Gives up tunnels and sessions that another edge has taken over. */
function makeTakings({
  sessions,
  tunnels,
  leave,
}: {
  readonly sessions: SessionBook;
  readonly tunnels: OpenTunnels;
  readonly leave: (session: AgentSession) => void;
}): Pick<SharedRegister, "tunnelTaken" | "sessionTaken"> {
  return {
    tunnelTaken({ tunnelId, moved, startedAt }) {
      const tunnel = tunnels.byId(tunnelId);
      // The agent may have returned meanwhile, so a tunnel that opened later stays.
      if (tunnel?.isElsewhere !== false || tunnel.startedAt > startedAt) return;
      if (moved) tunnels.withdraw(tunnel);
      else tunnels.stop(tunnel, newerSession, "agent_name_taken");
    },
    sessionTaken({ sessionId, startedMs }) {
      const session = sessions.byId(sessionId);
      if (!session || session.startedAt > startedMs) return;
      leave(session);
      session.close("replaced by a new connection");
    },
  };
}

function httpSite(tunnel: Tunnel | undefined, proto: "https" | "http"): Site | undefined {
  const endpoint = tunnel?.endpoint;
  return endpoint?.proto === proto && "findRoute" in endpoint.site ? endpoint.site : undefined;
}

function siteOverTls(tunnel: Tunnel | undefined): Site | ConnectionSite | undefined {
  const endpoint = tunnel?.endpoint;
  return endpoint?.proto === "https" || endpoint?.proto === "tls" ? endpoint.site : undefined;
}

function connectionSite(tunnel: Tunnel | undefined): ConnectionSite | undefined {
  const site = tunnel?.endpoint?.site;
  return site && "connection" in site ? site : undefined;
}

function reportsOf(sessions: SessionBook, tunnels: OpenTunnels, region: string): Upward[] {
  return [
    ...sessions.all().map((session) => ({ type: "session_opened" as const, session: renderSession(session, region) })),
    ...[...tunnels.all()]
      .filter(({ isElsewhere }) => !isElsewhere)
      .map((tunnel) => ({ type: "tunnel_opened" as const, tunnel: renderTunnel(tunnel, region) })),
  ];
}
