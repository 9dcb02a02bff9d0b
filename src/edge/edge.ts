/** The data plane with its listeners and the line to the control plane. */
import { exportFailures, logFailuresTo, runUnattended } from "../lib/boundary.ts";
import { useNameServers } from "../outbound/names/resolve-name.ts";
import type { Downward, Link, Upward } from "../routing/planes/messages.ts";
import { makeAnswers } from "./control/question-answers.ts";
import { followControlPlane } from "./control/control-line.ts";
import { makeEdgeExplainer } from "./control/edge-explainer.ts";
import { makeOwnSeries } from "./control/own-series.ts";
import type { CapturedPages } from "./control/replies.ts";
import { makeReplies } from "./control/replies.ts";
import { makeDataPlane } from "./data-plane.ts";
import { trackReached } from "./control/reached.ts";
import { followStanding } from "./control/follow-standing.ts";
import type { DataPlane } from "./data-plane.ts";
import { closeWebSockets, waitForDrain, waitForVisitorsToLeave, retireEdge, withdrawAgents } from "./drain.ts";
import type { Edge, EdgeOptions } from "./edge-options.ts";
import type { ServedConnection } from "./http/http-context.ts";
import type { AgentSession } from "../tunnel/server-hooks.ts";
import type { PeerPlaces, Peers } from "./peers/peers.ts";
import { listenForAgents, listenHttp, listenHttps } from "./listen.ts";
import { startGatewayListener } from "./listeners/gateway-listener.ts";
import type { Listener } from "./listeners/listener.ts";

/** Time to wait for connections that arrive at the last moment, milliseconds. After a delay they are few. */
const lateMs = 1_000;

/**
 * Starts the data plane. Connections wait until the control plane has sent its configuration over `link`. Otherwise
 * agents would get errors about unknown tokens. From then on the edge serves the last configuration, even if the link
 * fails (S4). Rejects if an address is not available.
 */
export async function startEdge(options: EdgeOptions, link: Link<Upward, Downward>): Promise<Edge> {
  logFailuresTo(options.log);
  exportFailures(options.metrics);
  useNameServers(options.nameServer);
  const listeners: Listener[] = [];
  const publicListeners: Listener[] = [];
  let httpsPort = 0;
  let httpPort: number | undefined;
  /** Start of the shutdown, which happens once. */
  let retiring: Promise<void> | undefined;
  const movers = new Set<AgentSession>();
  const advertisedHttpsPort = (): number => options.httpsPort ?? httpsPort;
  const plane = makeDataPlane(options, link, { https: advertisedHttpsPort, http: () => httpPort });
  const { context, tcpPorts, splices, observers } = plane;

  const serving = (connection: ServedConnection): void => {
    if (retiring) connection.retire();
  };
  const started = async <Kind extends Listener>(start: Promise<Kind>): Promise<Kind> => {
    const listener = await start;
    listeners.push(listener);
    return listener;
  };
  let gatewayClose = (): void => {};
  const close = (): void => {
    gatewayClose();
    tcpPorts.stop();
    splices.destroy();
    plane.logins.close();
    runUnattended("task", plane.saml.close());
    plane.peers?.close();
    for (const listener of listeners) listener.destroy();
    context.deadlines.stop();
    plane.tickets.stop();
  };
  const beginDrain = async (isObserved: boolean): Promise<void> => {
    if (!retiring) link.send({ type: "draining" });
    const { clock, drainMs, drainDelay } = options;
    // The delay is for visitors with a connection, and for those who choose another server.
    const waits = isObserved || context.connections.size + splices.open > 0;
    const delayMs = waits ? drainDelay * 1000 : 0;
    retiring ??= delayMs > 0 ? retireEdge(plane, clock, delayMs, movers) : Promise.resolve();
    await retiring;
    for (const listener of listeners) listener.close();
    tcpPorts.stop();
    const count = (): number => publicListeners.reduce((sum, { open }) => sum + open, 0);
    const accepted = { count, waitMs: delayMs > 0 ? lateMs : 0 };
    await Promise.all([
      waitForDrain(plane, clock, drainMs, accepted),
      waitForVisitorsToLeave(plane, clock, drainMs, movers),
    ]);
  };
  let draining: Promise<void> | undefined;
  const drain = (isObserved: boolean): Promise<void> => (draining ??= beginDrain(isObserved));
  try {
    const https = await started(listenHttps(options, plane, serving));
    httpsPort = https.port;
    const { httpListen, gatewayPath, beforeAgents } = options;
    const http = httpListen && (await started(listenHttp(httpListen, options, plane, advertisedHttpsPort(), serving)));
    httpPort = http?.port;
    publicListeners.push(https, ...(http ? [http] : []));
    const listening = started(listenForAgents(options, plane, { httpsPort, httpPort }));
    // An edge that waits for others can listen only when it has its configuration.
    listening.catch(() => undefined);
    if (!beforeAgents) await listening;
    const gateway = gatewayPath === undefined ? undefined : await startGatewayListener(gatewayPath, plane);
    gatewayClose = () => gateway?.close();
    const places = (await plane.peers?.listen()) ?? {};
    followLink(options, link, plane, places, {
      advertised: advertisedHttpsPort(),
      https: https.port,
      http: http?.port ?? 0,
      agent: beforeAgents ? options.agentListen.port : (await listening).port,
    });
    const agent = await listening;
    return {
      https: addressOf(https),
      http: http && addressOf(http),
      agent: addressOf(agent),
      replaceAuthority(authority) {
        plane.certificates.replaceAuthority(authority);
        agent.replaceAuthority(authority);
      },
      replaceAddresses: (data) => plane.addresses.take(data),
      accessWritten: (result) => observers.access?.written(result),
      drain,
      async stop() {
        await drain(true);
        await Promise.all([withdrawAgents(plane, options.clock), closeWebSockets(plane, options.clock)]);
        for (const connection of context.connections.members()) connection.destroy();
        plane.agents.close("the server is stopping");
        close();
        closeObservers(observers);
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

function closeObservers({ traffic, tallies, access, capture }: DataPlane["observers"]): void {
  traffic.close();
  tallies.close();
  access?.flush();
  capture?.flush();
}

/**
 * @param places addresses at which other edges reach this one
 * @param ports the one of public URLs and those of the listeners, or 0 without one
 */
function followLink(
  { metrics, log, clock, capture }: EdgeOptions,
  link: Link<Upward, Downward>,
  plane: DataPlane,
  places: PeerPlaces,
  ports: { readonly advertised: number; readonly https: number; readonly http: number; readonly agent: number },
): void {
  const {
    table,
    certificates,
    tickets,
    challenges,
    registry,
    sites,
    upstreams,
    context,
    tcpPorts,
    observers,
    logins,
    saml,
    addresses,
    loaded,
  } = plane;
  const { traffic, tallies, traces, failing } = observers;
  const listenPort = (scheme: "https" | "http"): number => ports[scheme];
  const explainer = makeEdgeExplainer({ table, sites, upstreams, context, listenPort });
  const reached = trackReached(clock);
  const retireClients = (): void => {
    for (const connection of context.connections.members()) connection.retire();
  };
  const standing = followStanding({ registry, agents: plane.agents, retireClients, clock, log });
  const series = makeOwnSeries((message) => link.send(message), clock);
  const answer = makeAnswers({
    command: (sessionId, command) => registry.command(sessionId, command),
    reply: makeReplies({
      traces,
      explainer,
      reached,
      standing: () => standing.current,
      addresses,
      series,
      captured: makeCapturedPages(capture),
      agentEndpoints: registry.endpointsOf,
      blocks: capture?.line.askBlocks,
    }),
    log,
  });
  plane.answerPeers(answer);
  followControlPlane({
    link,
    edgeId: plane.edgeId,
    httpsPort: ports.advertised,
    agentPort: ports.agent,
    places,
    reached,
    standing: standing.take,
    shared: registry.shared,
    joined: registry.joined,
    agentInboxAnswered: registry.inboxAnswered,
    table,
    certificates: certificates.uploaded,
    tickets,
    challenges,
    answer,
    relay: plane.peers && ((place, message) => (plane.peers as Peers).relay(place, message)),
    standingProblems: () => [...tcpPorts.problems(), ...failing.problems()],
    logins,
    saml,
    inbox: plane.inbox,
    deliverFromInbox: plane.deliverFromInbox,
    traffic,
    tallies,
    series,
    metrics,
    log,
    // Rules by country need their data from the first request on.
    loaded: () => runUnattended("task", addresses.ready.then(loaded)),
  });
}

/** The first edge of a node answers for all of them. */
function makeCapturedPages(capture: EdgeOptions["capture"]): CapturedPages | undefined {
  return capture?.edge === 1 ? (query) => capture.line.ask(query) : undefined;
}

function addressOf({ host, port }: Listener): { readonly host: string; readonly port: number } {
  return { host, port };
}
