/** One configuration, compiled as on an edge, without anything outside of it. */
import { makeLogins } from "../identity/login-engine.ts";
import type { Logins } from "../identity/login-engine.ts";
import type { SamlLogins } from "../identity/saml-login/saml-logins.ts";
import { internalKey, keysOver } from "../lib/internal-names.ts";
import { hostOfName } from "../lib/plain-names.ts";
import { silentLog } from "../lib/log.ts";
import { makeMetrics } from "../lib/metrics.ts";
import { Deadlines } from "../lib/deadlines.ts";
import { Roster } from "../lib/collections/roster.ts";
import { WindowReserve } from "../lib/io/receive-window.ts";
import { modulesWith, WindowPool } from "../modules/index.ts";
import { makeCounters } from "../edge/http/http-counters.ts";
import { defaultLimits, uploadReserveBytes } from "../edge/http/http-context.ts";
import type { HttpContext } from "../edge/http/http-context.ts";
import { makeOwnedPaths } from "../edge/http/owned-paths.ts";
import type { AgentEndpoint } from "../routing/planes/edge-questions.ts";
import { AgentEndpoints } from "./agent-endpoints.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { ConnectionSite, RoutingTable, Site } from "../routing/sites/compiled-site.ts";
import { makeRoutingTable } from "../routing/routing-table.ts";
import type { RoutingChange } from "../routing/planes/messages.ts";
import type { Replay } from "../traffic/replayed-rules.ts";
import { ReplayMoments } from "./replay-clock.ts";
import type { ReplayClock } from "./replay-clock.ts";
import { outsideServices, recordedSaml, unreachableJobs } from "./replayed-outside.ts";
import type { BacktestSettings } from "./backtest-settings.ts";

/** What a backtest compares: the configuration in effect, and the changes of the candidate. */
export interface BacktestConfigurations {
  readonly accountId: string;
  readonly revision: number;
  readonly objects: readonly ResourceObject[];
  readonly changes: readonly RoutingChange[];
  readonly settings: BacktestSettings;
  /** Endpoints that agents publish. */
  readonly endpoints: readonly AgentEndpoint[];
}

export interface World {
  readonly table: RoutingTable;
  readonly context: HttpContext;
  /** The request that is being decided. */
  current: Replay | undefined;
  /** The site at a lower-case host. Of several endpoints with this URL, the one with the id, or the first. */
  siteAt(host: string, siteId: string): Site | undefined;
  /** Whether an agent publishes the site. */
  isOfAgent(site: Pick<Site, "id">): boolean;
  /** Returns a text that is equal for equal configurations of a module on a route. */
  configurationOf(module: string, route: { readonly owner: string; readonly siteId: string | undefined }): string;
}

export function openWorld({ accountId, settings, endpoints }: BacktestConfigurations, clock: ReplayClock): World {
  const lacks = (what: string): void => world.current?.lacks(what);
  const logins = openLogins(
    settings,
    clock,
    () => table,
    (host) => findSite(host, ""),
  );
  const saml = recordedSaml as unknown as SamlLogins;
  const policies = {
    ...outsideServices(lacks),
    expressionErrors: settings.policyExpressionErrors,
    windows: new WindowPool(settings.policyRateKeys),
    secret: (account: string, vault: string, name: string) => table.secret(account, vault, name),
    internalEndpoint: (account: string, name: string) => {
      // Agents publish internal endpoints as well, and come and go.
      if (internalSite(account, name) === undefined) lacks(`whether "${name}" was online`);
      return true;
    },
  };
  const modules = modulesWith(settings, { logins, saml, policies });
  const table = makeRoutingTable(clock, modules);
  const agents = new AgentEndpoints({ accountId, endpoints, table, modules, clock });
  const internalSite = (account: string, name: string): Site | undefined => {
    for (const key of keysOver(internalKey({ scheme: "https", host: hostOfName(name), port: 443 }, account))) {
      const site = agents.find(key, "") ?? httpSite(table.named(key));
      if (site?.accountId === account) return site;
    }
    return undefined;
  };
  const configurations = new Map<string, string>();
  const sites = new Map<string, Site | undefined>();
  const findSite = (host: string, siteId: string): Site | undefined => {
    const pool = table.pool(host).flatMap((one) => httpSite(one) ?? []);
    const own = pool.find(({ id }) => id === siteId);
    if (own !== undefined) return own;
    const first = pool[0] ?? httpSite(table.serving(host));
    // R5: an edge with exactly this host comes before an endpoint, and the endpoint before a wildcard.
    if (first?.kind === "https_edge" && first.hosts.includes(host)) return first;
    return agents.find(host, siteId) ?? first;
  };
  // The table no longer changes once requests are decided.
  table.subscribe(() => {
    configurations.clear();
    sites.clear();
  });
  const world: World = {
    table,
    current: undefined,
    siteAt(host, siteId) {
      const key = `${host} ${siteId}`;
      let site = sites.get(key);
      if (site === undefined && !sites.has(key)) rememberValue(sites, key, (site = findSite(host, siteId)));
      return site;
    },
    isOfAgent: (site) => agents.has(site),
    configurationOf(module, { owner, siteId = "" }) {
      const key = `${module} ${owner} ${siteId}`;
      let text = configurations.get(key);
      if (text === undefined) {
        const ofRoute = table.object("https_edge_route", owner)?.doc[module];
        const ofEdge = table.object("https_edge", siteId)?.doc[module];
        rememberValue(configurations, key, (text = JSON.stringify([ofRoute, ofEdge])));
      }
      return text;
    },
    context: contextOf(settings, clock, logins, (account, name) =>
      account === accountId ? (internalSite(account, name) ?? agentsEndpoint(account, name)) : undefined,
    ),
  };
  return world;
}

/** Clients choose host names, so the number of remembered ones is bounded. */
const maxRemembered = 10_000;

function rememberValue<T>(values: Map<string, T>, key: string, value: T): void {
  if (values.size >= maxRemembered) values.clear();
  values.set(key, value);
}

/** An internal endpoint of an agent. Its own rules are not part of the configuration. */
function agentsEndpoint(accountId: string, name: string): Site {
  const id = `internal ${name}`;
  const matched = {
    by: "router",
    outcome: "passed" as const,
    reason: `forwarded to ${name}, which an agent published`,
  };
  const route = { id, revision: 0, mark: 0, matched, problem: undefined, request: [], response: [], settled: [] };
  return {
    kind: "endpoint",
    id,
    accountId,
    revision: 0,
    hosts: [hostOfName(name)],
    handshake: {},
    problem: undefined,
    findRoute: () => ({ ...route, upstream: { kind: "tunnel", id } }),
    advertises: () => true,
  };
}

function httpSite(site: Site | ConnectionSite | undefined): Site | undefined {
  return site && "findRoute" in site ? site : undefined;
}

function openLogins(
  settings: BacktestSettings,
  clock: ReplayClock,
  table: () => RoutingTable,
  siteFor: (host: string) => Site | undefined,
): Logins {
  return makeLogins({
    settings: {
      idpHost: settings.idpHost,
      httpsPort: () => settings.httpsPort,
      apps: settings.oauthApps ?? {},
      ca: undefined,
      allowLocal: settings.allowLocalUpstreams,
      issuers: settings.loginIssuer,
      maxSessions: settings.loginMaxSessions,
      idleDays: settings.loginIdleDays,
      skewSeconds: settings.clockSkew,
      sharedCallback: settings.oidcSharedCallback,
      isShared: false,
    },
    clock,
    log: silentLog,
    metrics: makeMetrics(),
    send() {},
    tell() {},
    siteFor,
    placeOf: (routeId) => table().placeOfRoute(routeId),
    jobs: unreachableJobs,
  });
}

function contextOf(
  settings: BacktestSettings,
  clock: ReplayClock,
  logins: Logins,
  internalSite: NonNullable<HttpContext["internalSite"]>,
): HttpContext {
  return {
    log: silentLog,
    clock,
    moments: new ReplayMoments(clock),
    deadlines: new Deadlines(clock),
    limits: defaultLimits,
    counters: makeCounters(),
    upstreams: {
      choose() {
        throw new Error("choose an upstream: a backtest sends nothing");
      },
    },
    internalSite,
    connections: new Roster(),
    uploadWindows: new WindowReserve(uploadReserveBytes),
    advertisedPort: { https: settings.httpsPort, http: 80 },
    owned: makeOwnedPaths([{ scope: "site", find: (_host, path, site) => logins.hostPaths.find(path, site) }]),
    takesDefaultPorts: settings.takesDefaultPorts,
    allowEncodedSlashes: settings.allowEncodedSlashes,
    // Records have the source after trusted proxies.
    trustsProxy: undefined,
    finished: undefined,
  };
}
