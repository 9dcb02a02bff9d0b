/** Creates and connects everything that carries traffic. Listening starts later. */
import { AddressBook } from "../geo/address-book.ts";
import { WindowReserve } from "../lib/io/receive-window.ts";
import { Moments } from "../lib/moments.ts";
import { Deadlines } from "../lib/deadlines.ts";
import { Roster } from "../lib/collections/roster.ts";
import { newId } from "../lib/ids.ts";
import type { Downward, Link, Upward } from "../routing/planes/messages.ts";
import { makeLogins } from "../identity/login-engine.ts";
import type { Logins } from "../identity/login-engine.ts";
import type { LoginSettings } from "../identity/browser/login-settings.ts";
import { authorizationPath } from "../identity/authorization/authorization-server.ts";
import { makeSamlLogins } from "../identity/saml-login/saml-logins.ts";
import type { SamlLogins } from "../identity/saml-login/saml-logins.ts";
import { idpHostOf } from "../lib/server-names.ts";
import { modulesWith, openOutside, WindowPool } from "../modules/index.ts";
import type { OwnParts } from "../modules/index.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import type { RoutingTable } from "../routing/sites/compiled-site.ts";
import { makeRoutingTable } from "../routing/routing-table.ts";
import { exportOutboundCounters } from "../outbound/outbound-counters.ts";
import { defaultTunnelLimits } from "../tunnel/tunnel-limits.ts";
import { makeAgentServer } from "../tunnel/agent-server.ts";
import type { AgentServer } from "../tunnel/agent-server.ts";
import { defaultAgentLimits } from "./agents/tunnels/agent-limits.ts";
import { makeAgentRegistry } from "./agents/registry.ts";
import type { AgentRegistry, AgentRegistryOptions } from "./agents/registry.ts";
import { defaultSpliceLimits } from "./connections/splice-limits.ts";
import { makeConnectionServer } from "./connections/connection-server.ts";
import type { ConnectionServer, ConnectionServerOptions } from "./connections/connection-server.ts";
import type { EdgeOptions } from "./edge-options.ts";
import { makeInboxLine } from "./http/inbox-line.ts";
import type { InboxLine } from "./http/inbox-line.ts";
import { idpSite } from "./http/serve-idp-site.ts";
import { makeInboxDeliveries } from "./http/inbox-delivery.ts";
import type { DeliverFromInbox } from "./http/inbox-delivery.ts";
import { challengePath } from "./http/challenge-path.ts";
import { uploadReserveBytes, defaultLimits } from "./http/http-context.ts";
import type { HttpContext, HttpLimits } from "./http/http-context.ts";
import { exportCounters, makeCounters } from "./http/http-counters.ts";
import { makeInternalCalls } from "./http/internal-calls.ts";
import { makeOwnedPaths } from "./http/owned-paths.ts";
import { defaultListenerLimits } from "./listeners/listener-limits.ts";
import type { ListenerContext } from "./listeners/listener.ts";
import { networksOf } from "../lib/networks.ts";
import { makeTcpPorts } from "./listeners/tcp-ports.ts";
import type { TcpPorts } from "./listeners/tcp-ports.ts";
import type { PeerHost } from "./peers/arriving-stream.ts";
import { makePeers } from "./peers/peers.ts";
import type { Peers } from "./peers/peers.ts";
import { makePools } from "./sites/pools.ts";
import type { Pools } from "./sites/pools.ts";
import { sharesOf } from "./share.ts";
import { makePublicSites } from "./sites/public-sites.ts";
import type { PublicSites } from "./sites/public-sites.ts";
import { makeAcmeChallenges } from "./tls/acme-challenges.ts";
import type { AcmeChallenges } from "./tls/acme-challenges.ts";
import { makeCertificates } from "./tls/certificates.ts";
import type { Certificates } from "./tls/certificates.ts";
import { makeTicketSecret } from "./tls/ticket-secret.ts";
import type { TicketSecret } from "./tls/ticket-secret.ts";
import { makeTlsEnd } from "./tls/tls-end.ts";
import { makeRequestUpstreams } from "./upstreams/request-upstreams.ts";
import type { RequestUpstreams } from "./upstreams/request-upstreams.ts";
import { makeObservers } from "./watch/observers.ts";
import type { Observers, ObserversOptions } from "./watch/observers.ts";

export interface DataPlane {
  readonly table: RoutingTable;
  readonly certificates: Certificates;
  readonly tickets: TicketSecret;
  readonly challenges: AcmeChallenges;
  readonly registry: AgentRegistry;
  /** Id of this edge for its lifetime. */
  readonly edgeId: string;
  /** Lines to other edges. Undefined without other edges. */
  readonly peers: Peers | undefined;
  /** Sets the handler of other nodes' questions and commands. They wait until it is set. */
  readonly answerPeers: (answer: PeerHost["answer"]) => void;
  /** Server for agents. */
  readonly agents: AgentServer;
  readonly sites: PublicSites;
  readonly pools: Pools;
  readonly logins: Logins;
  readonly saml: SamlLogins;
  readonly context: HttpContext;
  readonly upstreams: RequestUpstreams;
  /** Server for whole connections. */
  readonly splices: ConnectionServer;
  readonly tcpPorts: TcpPorts;
  readonly observers: Observers;
  /** Locations and categories of addresses. */
  readonly addresses: AddressBook;
  readonly inbox: InboxLine;
  readonly deliverFromInbox: DeliverFromInbox;
  /** Context of the listeners. */
  readonly listening: ListenerContext;
  /** Call it when the first configuration is in effect. Waiting connections are then served. */
  readonly loaded: () => void;
}

/** Ports of public URLs. Known once the edge listens. */
export interface PublicPorts {
  https(): number;
  http(): number | undefined;
}

/** Limits over all edges. Each edge gets its share. */
const ofAllListeners = [
  "connections",
  "connectionsPerSource",
  "connectionsPerAccount",
  "openingsPerSecond",
  "contexts",
] as const;
const ofAllAgentListeners = ["maxUnauthenticatedPerAddress", "maxUnauthenticated", "maxWrongTokens"] as const;

/** Number of webhooks of the maximum size that may be held at once. */
const heldWebhooks = 16;

export function makeDataPlane(options: EdgeOptions, link: Link<Upward, Downward>, ports: PublicPorts): DataPlane {
  const { clock, log, metrics, domain, tracing, random = Math.random } = options;
  const edges = options.peers?.count ?? 1;
  const send = (message: Upward): void => link.send(message);
  const saml = makeSamlLogins({
    clock,
    log,
    placeOf: (routeId) => table.placeOfRoute(routeId),
    failed: (routeId, why) => observers.failing.note({ id: routeId }, why),
  });
  const logins = makeLogins({
    settings: loginSettings(options, ports),
    clock,
    log,
    metrics,
    send,
    tell: (...event) => observers.traffic.login(...event),
    siteFor: (host) => sites.https(host),
    placeOf: (routeId) => table.placeOfRoute(routeId),
    idpPaths: [saml.path, authorizationPath],
  });
  const policies = policyServices(options, () => ({ table, sites, context }));
  const inbox = makeInboxLine(send, clock);
  const addresses = openAddresses(options.addresses);
  const modules = modulesWith(options, { logins, saml, policies, inbox, addresses });
  const table = makeRoutingTable(clock, modules, options.refused);
  const listenerLimits = sharesOf(
    { ...defaultListenerLimits, edges, ...options.limits?.connections },
    ofAllListeners,
    edges,
  );
  const certificates = makeCertificates({
    authority: options.authority,
    domain,
    maxLeaves: listenerLimits.contexts,
    serverAccount: () => logins.serverAccountId,
    clock,
    log,
  });
  const challenges = makeAcmeChallenges(log);
  const { promise: answering, resolve: answerPeers } = Promise.withResolvers<PeerHost["answer"]>();
  const host = delayHost(() => registry.peerHost, answering);
  const edgeId = newId("edge", clock.now());
  const peers = options.peers && makePeers({ ...options.peers, edgeId, host, clock, log, metrics });
  const otherEdges = peers && { peers };
  const registry = openRegistry(options, ports, { table, modules, send, others: otherEdges, tcpPorts: () => tcpPorts });
  const agents = agentServer(options, registry, edges, edgeId);
  const counters = makeCounters();
  exportCounters(counters, metrics);
  exportOutboundCounters(metrics);
  const moments = new Moments(clock);
  const capture = captureOf(options, () => registry.nodeId(edgeId));
  const observers = makeObservers({ table, send, clock, moments, log, metrics, capture, tracing, settings: options });
  const deadlines = new Deadlines(clock);
  const limits = httpLimits(options);
  const dial = { clock, allowLocal: options.allowLocalUpstreams };
  const tickets = makeTicketSecret(clock);
  const tlsEnd = makeTlsEnd({ certificates, tickets, clock, limits: listenerLimits });
  const carried = { tlsEnd, registry, dial, deadlines, closed: observers.connectionClosed };
  const splices = connectionServer(options, edges, () => sites, carried);
  const upstreams = makeRequestUpstreams({ registry, context: { clock, deadlines, limits, log }, dial });
  const lateParts = { sites: () => sites, configuration: table };
  const shared = { addresses, moments, deadlines, limits, counters, upstreams, observers, challenges, logins };
  const context = httpContext(options, ports, { ...shared, ...lateParts });
  const { promise: ready, resolve: loaded } = Promise.withResolvers<void>();
  const isShared = options.peers !== undefined;
  const listening = { ready, limits: listenerLimits, addresses, isShared, clock, log, metrics };
  const tcpPorts = makeTcpPorts({
    ...listening,
    random,
    proxies: options.trustedProxies,
    admits: splices.admits,
    serve: splices.serve,
    host: options.tcpBind,
    table,
    report: (problems) => send({ type: "problems", problems }),
  });
  const pools = makePools(table, registry, random);
  const sites = makePublicSites(table, registry, idpSite(logins, ports.https), pools);
  const deliverFromInbox = makeInboxDeliveries(table, context);
  const carrying = { context, upstreams, splices, tcpPorts, observers, listening, loaded, answerPeers };
  return {
    table,
    certificates,
    tickets,
    challenges,
    registry,
    edgeId,
    peers,
    agents,
    sites,
    pools,
    logins,
    saml,
    addresses,
    inbox,
    deliverFromInbox,
    ...carrying,
  };
}

function openAddresses(loaded: EdgeOptions["addresses"]): AddressBook {
  const addresses = new AddressBook(() =>
    loaded ? loaded.wanted() : addresses.take({ databases: [], hasCountries: false, categories: [] }),
  );
  if (loaded?.data) addresses.take(loaded.data);
  return addresses;
}

function agentServer(options: EdgeOptions, registry: AgentRegistry, edges: number, edgeId: string): AgentServer {
  const { clock, log, region, serverVersion } = options;
  return makeAgentServer(registry, {
    clock,
    log,
    secret: Buffer.from(options.tunnelSecret),
    region,
    serverVersion,
    edges: () => registry.sessionsPerAgent(edges),
    edgeId,
    nodes: () => (options.peers?.nodes ? registry.nodeCount() : 0),
    nodeId: () => registry.nodeId(edgeId),
    edgeSet: () => registry.edgeSet(edgeId),
    limits: sharesOf(defaultTunnelLimits, ofAllAgentListeners, edges),
  });
}

function connectionServer(
  { clock, log, metrics, limits }: EdgeOptions,
  edges: number,
  sites: () => PublicSites,
  parts: Pick<ConnectionServerOptions, "tlsEnd" | "registry" | "dial" | "deadlines" | "closed">,
): ConnectionServer {
  return makeConnectionServer({
    ...parts,
    internal: (accountId, address) => sites().internalConnection(accountId, address),
    clock,
    log,
    metrics,
    limits: sharesOf({ ...defaultSpliceLimits, ...limits?.splices }, ["connectionsPerAccount"], edges),
  });
}

function httpLimits({ webhookMaxBytes, responseTimeout, limits = {} }: EdgeOptions): HttpLimits {
  const maxHeldBytes = Math.max(defaultLimits.maxHeldBytes, heldWebhooks * webhookMaxBytes);
  return { ...defaultLimits, maxHeldBytes, upstreamTimeoutMs: responseTimeout, ...limits.http };
}

interface HttpParts extends Pick<
  HttpContext,
  "configuration" | "addresses" | "moments" | "deadlines" | "limits" | "counters" | "upstreams"
> {
  readonly observers: Observers;
  readonly challenges: AcmeChallenges;
  readonly logins: Logins;
  /** Created later. */
  readonly sites: () => PublicSites;
}

function httpContext(options: EdgeOptions, ports: PublicPorts, parts: HttpParts): HttpContext {
  const { observers, challenges, logins, sites, ...own } = parts;
  return {
    ...own,
    random: options.random ?? Math.random,
    log: options.log,
    clock: options.clock,
    internalSite: (accountId, name) => sites().internal(accountId, name),
    connections: new Roster(),
    uploadWindows: new WindowReserve(uploadReserveBytes),
    advertisedPort: {
      get https() {
        return ports.https();
      },
      http: 80,
    },
    owned: makeOwnedPaths([
      challengePath(challenges.body),
      { scope: "site", find: (host, path, site) => logins.hostPaths.find(path, site, host) },
    ]),
    takesDefaultPorts: options.httpsPort === undefined,
    allowEncodedSlashes: options.allowEncodedSlashes,
    trustsProxy: networksOf(options.trustedForwarders),
    tracing: options.tracing,
    routeFailed: observers.failing.note,
    capturedBytes: observers.capture?.bodyBytes,
    finished: observers.exchangeFinished,
  };
}

function loginSettings(options: EdgeOptions, ports: PublicPorts): LoginSettings {
  return {
    idpHost: idpHostOf(options),
    httpsPort: ports.https,
    apps: options.oauthApps ?? {},
    ca: options.loginCa,
    allowLocal: options.allowLocalUpstreams,
    issuers: options.loginIssuer,
    maxSessions: options.loginMaxSessions,
    idleDays: options.loginIdleDays,
    skewSeconds: options.clockSkew,
    sharedCallback: options.oidcSharedCallback,
    isShared: options.peers !== undefined,
  };
}

/**
 * Services of the edge for rules of policies.
 * @param lateParts is created after the modules, before a rule runs
 */
function policyServices(
  options: EdgeOptions,
  lateParts: () => { readonly table: RoutingTable; readonly sites: PublicSites; readonly context: HttpContext },
): NonNullable<OwnParts["policies"]> {
  return {
    internalEndpoint: (accountId, name) => lateParts().sites.internal(accountId, name) !== undefined,
    secret: (accountId, vault, name) => lateParts().table.secret(accountId, vault, name),
    internalConnection: (accountId, address) => lateParts().sites.internalConnection(accountId, address) !== undefined,
    ...(options.random && { random: options.random }),
    expressionErrors: options.policyExpressionErrors,
    windows: new WindowPool(options.policyRateKeys),
    ...openOutside({
      clock: options.clock,
      allowLocal: options.policyLocalAddresses,
      ca: options.policyCa,
      hosts: options.policyHosts,
      inside: makeInternalCalls(
        () => lateParts().context,
        (accountId, name) => lateParts().sites.internal(accountId, name),
      ),
    }),
  };
}

function captureOf(
  { capture, captureRequests, random = Math.random }: EdgeOptions,
  nodeId: () => string,
): ObserversOptions["capture"] {
  if (capture === undefined) return undefined;
  const { line, edge } = capture;
  return { line, isDefault: captureRequests, place: () => ({ nodeId: nodeId(), edge }), random };
}

/** The register's services for other edges. The register is created after the lines. */
function delayHost(host: () => AgentRegistry["peerHost"], answering: Promise<PeerHost["answer"]>): PeerHost {
  return {
    openProxy: (header, take) => host().openProxy(header, take),
    ask: (sessionId, done) => host().ask(sessionId, done),
    tellTimes: (sessionId, times) => host().tellTimes(sessionId, times),
    answer: async (message) => (await answering)(message),
  };
}

interface RegistryParts {
  readonly table: RoutingTable;
  readonly modules: readonly ModuleDeclaration[];
  readonly send: (message: Upward) => void;
  readonly others: AgentRegistryOptions["others"];
  /** Created later. */
  readonly tcpPorts: () => TcpPorts;
}

function openRegistry(
  options: EdgeOptions,
  ports: PublicPorts,
  { table, modules, send, others, tcpPorts }: RegistryParts,
): AgentRegistry {
  return makeAgentRegistry({
    table,
    report: send,
    domain: options.domain,
    idpHost: options.idpHost,
    region: options.region,
    clock: options.clock,
    log: options.log,
    modules,
    others,
    requireReservedNames: options.requireDomainProof !== "none",
    advertisedHttpsPort: ports.https,
    advertisedHttpPort: ports.http,
    limits: { ...defaultAgentLimits, ...options.limits?.agents },
    tcp: {
      range: options.tcpPorts,
      open: (site, failed, isElsewhere) => tcpPorts().open(site, failed, isElsewhere),
      close: (site) => tcpPorts().close(site),
    },
  });
}
