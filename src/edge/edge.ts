/** The data plane: public listeners, the agent listener, and what follows the control plane's configuration. */
import type { Clock } from "../lib/clock.ts";
import { internalKey, isInternalKey } from "../lib/internal-names.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { KeyedCertificate } from "../lib/x509.ts";
import type { Downward, Link, Upward } from "../routing/planes/messages.ts";
import { defaultPolicyServices, modulesWith } from "../modules/index.ts";
import type { PolicyServices } from "../modules/index.ts";
import { defaultWebhookSettings } from "../traffic/parts/webhook-check.ts";
import type { WebhookSettings } from "../traffic/parts/webhook-check.ts";
import type { ConnectionSite, Site } from "../routing/sites/compiled.ts";
import { makeRoutingTable } from "../routing/table.ts";
import { exportOutboundCounters } from "../outbound/counters.ts";
import { makeAgentServer } from "../tunnel/server.ts";
import { makeAcmeChallenges } from "./tls/acme-challenges.ts";
import { startAgentListener } from "./listeners/agent-listener.ts";
import type { PortRange } from "./agents/addresses.ts";
import { defaultAgentLimits } from "./agents/limits.ts";
import type { AgentLimits } from "./agents/limits.ts";
import { makeAgentRegistry } from "./agents/registry.ts";
import { makeUpstreams } from "./upstreams/request-upstreams.ts";
import { makeCertificates } from "./tls/certificates.ts";
import { defaultSpliceLimits } from "./connections/limits.ts";
import type { SpliceLimits } from "./connections/limits.ts";
import { makeConnectionServer } from "./connections/serve.ts";
import { makeTcpPorts } from "./listeners/tcp-ports.ts";
import { followControlPlane } from "./control/control-line.ts";
import { makeAnswers } from "./control/answers.ts";
import { makeExchangeLog } from "./watch/exchange-log.ts";
import { makeEdgeExplainer } from "./control/explain.ts";
import { makeFailingRoutes } from "./watch/failing-routes.ts";
import { defaultLimits } from "./http/context.ts";
import type { HttpContext, HttpLimits, InternalSites } from "./http/context.ts";
import { challengePath } from "./http/challenge-path.ts";
import { exportCounters, makeCounters } from "./http/counters.ts";
import { Deadlines } from "../lib/deadlines.ts";
import { serveHttp1 } from "./http/http1-connection.ts";
import { makeOwnedPaths } from "./http/owned-paths.ts";
import { serveHttp2 } from "./http2/connection.ts";
import { startHttpsListener } from "./listeners/https-listener.ts";
import { defaultConnectionLimits } from "./listeners/limits.ts";
import type { ConnectionLimits } from "./listeners/limits.ts";
import type { ListenAddress, Listener } from "./listeners/listener.ts";
import { machineNames } from "./tls/machine-names.ts";
import { networksOf } from "./listeners/networks.ts";
import { startRedirectListener } from "./listeners/redirect-listener.ts";
import { defaultTraceLimits, makeTraces } from "./watch/traces.ts";
import type { TraceLimits } from "./watch/traces.ts";
import { makeTrafficReports } from "./watch/traffic-reports.ts";
import type { TrafficReportLimits } from "./watch/traffic-reports.ts";

export interface EdgeOptions {
  readonly httpsListen: ListenAddress;
  /** Redirects to HTTPS; not listened on unless given. */
  readonly httpListen?: ListenAddress | undefined;
  readonly agentListen: ListenAddress;
  /** Where the ports of TCP edges and endpoints are listened on: every address of the machine unless given. */
  readonly tcpHost?: string | undefined;
  /** Ports that tcp endpoints of agents are given; 20000 to 29999 unless given. */
  readonly tcpPorts?: PortRange | undefined;
  /**
   * Networks of proxies in front of the public listeners, in CIDR notation. They must begin each connection with a
   * PROXY protocol header (version 1 or 2), which is believed; nobody else's is.
   */
  readonly proxies?: readonly string[];
  /**
   * Networks of HTTP proxies, in CIDR notation: the source of a request from there is the one that its
   * X-Forwarded-For names. What `proxies` say about a connection comes first.
   */
  readonly forwarders?: readonly string[];
  /** Names under it are the server's own, lower case. */
  readonly domain: string;
  /** The port in public URLs; the HTTPS listener's unless given. */
  readonly advertisedHttpsPort?: number | undefined;
  /** The server's own certificate authority. */
  readonly authority: KeyedCertificate;
  /** Names and addresses by which agents reach this server, besides those of the machine and the domain. */
  readonly agentNames?: readonly string[];
  /** At least 32 bytes, the same after a restart. */
  readonly tunnelSecret: Uint8Array;
  readonly region: string;
  readonly serverVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** How long a stop waits for what is in flight, milliseconds; 10 s unless given. */
  readonly drainMs?: number;
  readonly webhooks?: Partial<WebhookSettings>;
  readonly policies?: Partial<PolicyServices>;
  /** Whether backends may name loopback and link-local addresses. */
  readonly allowLocalUpstreams?: boolean;
  /** Whether agents may publish only at names below `domain` and at those that their account has reserved. */
  readonly requireReservedNames?: boolean;
  readonly limits?: {
    readonly connections?: Partial<ConnectionLimits>;
    readonly http?: Partial<HttpLimits>;
    readonly agents?: Partial<AgentLimits>;
    readonly traces?: Partial<TraceLimits>;
    readonly splices?: Partial<SpliceLimits>;
    readonly trafficReports?: Partial<TrafficReportLimits>;
  };
}

export interface Edge {
  readonly https: { readonly host: string; readonly port: number };
  readonly http: { readonly host: string; readonly port: number } | undefined;
  readonly agent: { readonly host: string; readonly port: number };
  /** Accepts nothing more, and resolves when what is in flight has ended or the bound is reached. */
  drain(): Promise<void>;
  /** Drains, says goodbye to agents and closes everything. */
  stop(): Promise<void>;
}

const defaultDrainMs = 10_000;
/** As the management API gives out reserved addresses. */
const defaultTcpPorts: PortRange = Object.freeze({ first: 20_000, last: 29_999 });
const drainCheckMs = 20;
/** Webhooks of the largest size that may be held at one time. */
const heldWebhooks = 16;

/**
 * Starts the data plane. Connections wait until the control plane has sent its configuration over `link`; an
 * agent must not be told that its token is unknown before then. From then on the last configuration is served,
 * also when the link falls silent (S4). Rejects when an address cannot be listened on.
 */
export async function startEdge(options: EdgeOptions, link: Link<Upward, Downward>): Promise<Edge> {
  const { clock, log, metrics, domain, authority, region } = options;
  const connectionLimits = { ...defaultConnectionLimits, ...options.limits?.connections };
  const webhooks = { ...defaultWebhookSettings, ...options.webhooks };
  const modules = modulesWith({
    webhooks,
    policies: {
      ...defaultPolicyServices,
      webhookBytes: webhooks.maxBytes,
      internalEndpoint: (accountId, host) => internalSite(accountId, host) !== undefined,
      ...options.policies,
    },
  });
  const table = makeRoutingTable(clock, modules);
  const certificates = makeCertificates(authority, domain, clock, log);
  const challenges = makeAcmeChallenges(log);
  const listeners: Listener[] = [];
  let httpsPort = 0;
  let httpPort: number | undefined;
  let isDraining = false;
  const advertisedHttpsPort = (): number => options.advertisedHttpsPort ?? httpsPort;

  const registry = makeAgentRegistry({
    table,
    report: (message) => link.send(message),
    domain,
    requireReservedNames: options.requireReservedNames,
    advertisedHttpsPort,
    advertisedHttpPort: () => httpPort,
    region,
    clock,
    log,
    limits: { ...defaultAgentLimits, ...options.limits?.agents },
    modules,
    tcp: {
      range: options.tcpPorts ?? defaultTcpPorts,
      open: (site, failed) => tcpPorts.open(site, failed),
      close: (site) => tcpPorts.close(site),
    },
  });
  const agents = makeAgentServer(registry, {
    clock,
    log,
    secret: Buffer.from(options.tunnelSecret),
    region,
    serverVersion: options.serverVersion,
  });
  /** R5: a wildcard never takes a name away from the endpoint that is published at it. */
  const siteFor = (host: string): Site | undefined => {
    // Nobody outside reaches what is internal, whatever name a handshake has.
    if (isInternalKey(host)) return undefined;
    const endpoint = registry.siteFor(host);
    const site = table.httpsSite(host);
    if (endpoint) return site?.hosts.includes(host) ? site : endpoint;
    return site && registry.tlsSiteFor(host) && !site.hosts.includes(host) ? undefined : site;
  };
  /** An internal endpoint of the account, by its name. */
  const internalSite: InternalSites = (accountId, host) => {
    const key = internalKey(host, accountId);
    const site = registry.siteFor(key) ?? registry.plainSiteFor(key) ?? table.httpsSite(key);
    return site?.accountId === accountId ? site : undefined;
  };
  const tlsSiteFor = (host: string): ConnectionSite | undefined => {
    if (isInternalKey(host)) return undefined;
    const edge = table.tlsSite(host);
    if (edge?.hosts.includes(host)) return edge;
    if (registry.siteFor(host) || table.httpsSite(host)?.hosts.includes(host)) return undefined;
    return registry.tlsSiteFor(host) ?? edge;
  };
  const counters = makeCounters();
  exportCounters(counters, metrics);
  exportOutboundCounters(metrics);
  const deadlines = new Deadlines(clock);
  const maxHeldBytes = Math.max(defaultLimits.maxHeldBytes, heldWebhooks * webhooks.maxBytes);
  const limits = { ...defaultLimits, maxHeldBytes, ...options.limits?.http };
  const dial = { clock, allowLocal: options.allowLocalUpstreams ?? false };
  const forwarders = networksOf(options.forwarders ?? []);
  const traffic = makeTrafficReports({
    send: (message) => link.send(message),
    clock,
    metrics,
    limits: options.limits?.trafficReports ?? {},
  });
  const splices = makeConnectionServer({
    registry,
    dial,
    limits: { ...defaultSpliceLimits, ...options.limits?.splices },
    deadlines,
    closed: (connection) => traffic.connection(connection),
    clock,
    log,
    metrics,
  });
  const upstreams = makeUpstreams({ registry, context: { clock, deadlines, limits, log }, dial });
  const logExchange = makeExchangeLog(log);
  const traces = makeTraces(clock, { ...defaultTraceLimits, ...options.limits?.traces });
  const failing = makeFailingRoutes(table, (problems) => link.send({ type: "problems", problems }));
  const context: HttpContext = {
    log,
    clock,
    deadlines,
    limits,
    counters,
    upstreams,
    internalSite,
    connections: new Set(),
    advertisedPort: {
      get https() {
        return advertisedHttpsPort();
      },
      http: 80,
    },
    owned: makeOwnedPaths([challengePath(challenges.body)]),
    trustsProxy: forwarders,
    routeFailed: failing.note,
    finished(exchange) {
      logExchange(exchange);
      traces.note(exchange);
      traffic.request(exchange);
    },
  };

  const { promise: ready, resolve: loaded } = Promise.withResolvers<void>();
  const shared = { ready, limits: connectionLimits, clock, log, metrics };
  const tcpPorts = makeTcpPorts({
    ...shared,
    admits: splices.admits,
    serve: splices.serve,
    host: options.tcpHost,
    table,
    report: (problems) => link.send({ type: "problems", problems }),
    proxies: options.proxies,
  });

  const close = (): void => {
    tcpPorts.stop();
    splices.destroy();
    for (const listener of listeners) listener.destroy();
    deadlines.stop();
  };
  const listen = async (start: Promise<Listener>): Promise<Listener> => {
    const listener = await start;
    listeners.push(listener);
    return listener;
  };
  try {
    const https = await listen(
      startHttpsListener({
        ...shared,
        at: options.httpsListen,
        proxies: options.proxies,
        forwarders,
        siteFor,
        connections: { siteFor: tlsSiteFor, admits: splices.admits, serve: splices.serve },
        certificates,
        challenges,
        protocols: ["h2", "http/1.1"],
        serve(socket, facts, protocol) {
          const serve = protocol === "h2" ? serveHttp2 : serveHttp1;
          const connection = serve(socket, facts, siteFor, context);
          if (isDraining) connection.drain();
        },
      }),
    );
    httpsPort = https.port;
    const http = options.httpListen
      ? await listen(
          startRedirectListener({
            ...shared,
            at: options.httpListen,
            proxies: options.proxies,
            forwarders,
            advertisedHttpsPort: advertisedHttpsPort(),
            challengeBody: challenges.body,
            endpoints: {
              siteFor: (host) => registry.plainSiteFor(host),
              serve(socket, facts, first) {
                const connection = serveHttp1(socket, facts, (host) => registry.plainSiteFor(host), context, first);
                if (isDraining) connection.drain();
              },
            },
          }),
        )
      : undefined;
    httpPort = http?.port;
    const names = [...(options.agentNames ?? []), domain, ...machineNames()];
    const agent = await listen(startAgentListener({ ...shared, at: options.agentListen, authority, names, agents }));
    followControlPlane({
      link,
      edgeId: newId("edge", clock.now()),
      httpsPort: advertisedHttpsPort(),
      table,
      certificates: certificates.uploaded,
      challenges,
      command: (sessionId, command) => registry.command(sessionId, command),
      answer: makeAnswers(
        traces,
        makeEdgeExplainer({
          table,
          siteFor,
          plainSiteFor: (host) => registry.plainSiteFor(host),
          endpointAt: (kind, host, port) =>
            kind === "tls_endpoint" ? registry.tlsSiteFor(host) : registry.tcpSiteAt(port),
          upstreams,
          context,
          listenPort: (scheme) => (scheme === "https" ? https.port : (http?.port ?? 0)),
        }),
      ),
      standingProblems: () => [...tcpPorts.problems(), ...failing.problems()],
      traffic,
      metrics,
      log,
      loaded,
    });
    const drain = async (): Promise<void> => {
      if (!isDraining) link.send({ type: "draining" });
      isDraining = true;
      for (const listener of listeners) listener.close();
      tcpPorts.stop();
      for (const connection of context.connections) connection.drain();
      await until(() => context.connections.size + splices.open === 0, clock, options.drainMs ?? defaultDrainMs);
    };
    return {
      https: place(https),
      http: http && place(http),
      agent: place(agent),
      drain,
      async stop() {
        await drain();
        for (const connection of context.connections) connection.destroy();
        agents.close("the server is stopping");
        close();
        traffic.close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

function place({ host, port }: Listener): { readonly host: string; readonly port: number } {
  return { host, port };
}

/** Resolves when `isDone`, or after `boundMs`. */
function until(isDone: () => boolean, clock: Clock, boundMs: number): Promise<void> {
  if (isDone()) return Promise.resolve();
  const endsAt = clock.monotonic() + boundMs;
  return new Promise((resolve) => {
    const timer = clock.every(drainCheckMs, () => {
      if (!isDone() && clock.monotonic() < endsAt) return;
      timer.cancel();
      resolve();
    });
  });
}
