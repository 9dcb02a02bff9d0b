/** The control plane: storage, the management API, and the lines to the edges, started and stopped together. */
import type { AddressInfo } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { SuffixRules } from "../lib/public-suffix.ts";
import { makeMetrics } from "../lib/metrics.ts";
import { modules } from "../modules/index.ts";
import { resources as declared } from "../resources/index.ts";
import type { Downward, Link, Upward } from "../routing/planes/messages.ts";
import { exportOutboundCounters } from "../outbound/counters.ts";
import { openStore } from "../storage/open.ts";
import type { Quotas } from "../storage/quotas.ts";
import type { Store } from "../storage/store.ts";
import { trackApplied } from "./edges/applied.ts";
import { openKeyRing } from "./http/authenticate.ts";
import { makeEdges } from "./edges/edges.ts";
import { trackProblems } from "./edges/problems.ts";
import { makeEdgeQueries } from "./edges/queries.ts";
import { openDomainChecks } from "./domain-proof/checker.ts";
import { makeResolveTxt } from "./domain-proof/resolver.ts";
import type { ResolveTxt } from "./domain-proof/resolver.ts";
import type { DomainProof } from "./domain-proof/rules.ts";
import { startEvents } from "./events/dispatcher.ts";
import type { AwsSettings } from "./events/targets/target.ts";
import { ensureFirstTokens } from "./first-start.ts";
import type { FirstTokens } from "./first-start.ts";
import { openLiveObjects } from "./edges/live-objects.ts";
import { defaultLoginLimits } from "../identity/settings.ts";
import { keepLoginKeys } from "./logins/keys.ts";
import { keepLoginBook } from "./logins/login-book.ts";
import { makeOperations } from "./operations.ts";
import { openProvisioning } from "./provisioning/provisioning.ts";
import { defaultAcmeSettings } from "./provisioning/settings.ts";
import type { AcmeSettings } from "./provisioning/settings.ts";
import { startPublishing } from "./edges/publish.ts";
import { openSourceRestriction } from "./http/source-restriction.ts";
import { trackReadiness } from "./edges/readiness.ts";
import { startServer } from "./http/server.ts";
import type { ApiLimits } from "./http/server.ts";

export interface ControlPlaneOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** The API's base URL as clients reach it, without slash at the end; absent: as each request says. */
  readonly apiUrl?: string;
  /** An SQLite file, relative to `dataDirectory`, or `postgres://…`. */
  readonly database: string;
  readonly dataDirectory: string;
  /** Revisions older than this many days are deleted; 0, or absent, keeps all. */
  readonly historyDays?: number;
  /** 32 bytes each: the first one seals stored secrets, all open them. */
  readonly sealingKey: Buffer | readonly Buffer[];
  /** Base of generated host names. */
  readonly domain: string;
  /** The port of HTTPS in public URLs, where it is known before an edge says it. */
  readonly httpsPort?: number | undefined;
  /** Hostports need a reserved domain first. */
  readonly requireReservedDomains?: boolean;
  /** What counts as a public suffix beside the public suffix list, and what does not although it is on it. */
  readonly suffixes?: SuffixRules;
  /** Backends may name loopback and link-local addresses. */
  readonly allowLocalUpstreams?: boolean;
  /** How accounts prove that names which are not of the server are theirs; not at all unless given. */
  readonly domainProof?: DomainProof;
  /** How TXT records are looked up; by the system's name servers unless given. */
  readonly resolveTxt?: ResolveTxt;
  /** Ports that reserved addresses are given, both ends included; 20000 to 29999 unless given. */
  readonly tcpPorts?: { readonly first: number; readonly last: number } | undefined;
  /** Who issues certificates; an authority whose terms nobody has agreed to, unless given. */
  readonly acme?: AcmeSettings;
  /** After so many days of disuse edges let a login go; 30 unless given. */
  readonly loginIdleDays?: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Tokens that must work; on a first start the ones that are absent are made. */
  readonly bootstrap: { readonly apiKey?: string; readonly authtoken?: string };
  readonly limits?: Partial<ApiLimits>;
  /** Origins whose pages may call from browsers, as these send them; none unless given. */
  readonly apiOrigins?: readonly string[];
  /** What each account may store; storage's own quotas unless given. */
  readonly quotas?: Quotas;
  /** Where events may be sent: only over HTTPS to public addresses, unless `allowPrivate`. */
  readonly events?: {
    readonly allowPrivate?: boolean;
    readonly ca?: string;
    /** With which roles of accounts are taken. */
    readonly aws?: AwsSettings | undefined;
  };
}

export interface ControlPlane {
  readonly address: AddressInfo;
  readonly apiUrl: string;
  /** Present when this start made the first account; shown to nobody else ever again. */
  readonly firstStart?: FirstTokens;
  /** Answers what is under way, then closes the database. */
  stop(): Promise<void>;
}

const defaultTcpPorts = { first: 20_000, last: 29_999 };
const defaultLimits: ApiLimits = { requestsPerMinute: 60_000, wrongKeysPerMinute: 60, maxConnections: 4_096 };

/**
 * Starts the control plane of the edges at the other ends of `links`, one behind each.
 * Rejects when the database cannot be opened or the address is taken.
 */
export async function startControlPlane(
  options: ControlPlaneOptions,
  links: readonly Link<Downward, Upward>[],
): Promise<ControlPlane> {
  const { clock, log } = options;
  const store = await openStore({
    database: options.database,
    dataDirectory: options.dataDirectory,
    historyDays: options.historyDays ?? 0,
    sealingKey: options.sealingKey,
    declarations: { resources: declared, modules },
    ...(options.quotas && { quotas: options.quotas }),
    clock,
    log,
  });
  try {
    const firstStart = await ensureFirstTokens(store, options.bootstrap);
    return { ...(await serve(options, store, links)), ...(firstStart && { firstStart }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serve(
  options: ControlPlaneOptions,
  store: Store,
  links: readonly Link<Downward, Upward>[],
): Promise<ControlPlane> {
  const { clock, log } = options;
  const metrics = makeMetrics();
  exportOutboundCounters(metrics);
  const edges = makeEdges(links);
  const liveObjects = openLiveObjects(store);
  const keys = openKeyRing(store, clock);
  const queries = makeEdgeQueries(edges, clock);
  const applied = trackApplied(clock);
  const acme = options.acme ?? defaultAcmeSettings;
  const provisioning = openProvisioning({ store, settings: acme, applied, clock, log, metrics });
  const problems = trackProblems(log);
  metrics.gauge("postern_revision", "Revision of the last committed write.", () => store.revision);
  metrics.gauge("postern_revision_applied", "Revision that every edge serves.", () => applied.everywhere() ?? 0);
  metrics.gauge("postern_tunnel_sessions", "Connected agents.", () => liveObjects.count("tunnel_session"));
  metrics.gauge("postern_tunnels", "Online tunnels.", () => liveObjects.count("tunnel"));
  metrics.gauge("postern_configuration_problems", "Modules that an edge could not compile.", () => problems.count());
  let apiUrl = options.apiUrl?.replace(/\/+$/, "");
  const events = await startEvents({
    ...options.events,
    store,
    clock,
    log,
    metrics,
    dataDirectory: options.dataDirectory,
    baseUrl: () => apiUrl ?? "",
    allowPrivate: options.events?.allowPrivate ?? false,
    edges,
  });
  const readiness = trackReadiness(store, metrics);
  const loginKeys = await keepLoginKeys(store, clock, log);
  const logins = keepLoginBook({ store, clock, log, idleDays: options.loginIdleDays ?? defaultLoginLimits.idleDays });
  edges.follow([applied, readiness, startPublishing(store, edges), events, problems, liveObjects, queries, logins]);
  const requireReservation = options.requireReservedDomains ?? false;
  const domain = options.domain.toLowerCase();
  const tcpPorts = options.tcpPorts ?? defaultTcpPorts;
  const suffixes = options.suffixes ?? { more: [], allowed: [] };
  const proof = { domain, suffixes, domainProof: options.domainProof ?? "none" } as const;
  const resolveTxt = options.resolveTxt ?? makeResolveTxt();
  const domainChecks = openDomainChecks({ store, rules: proof, resolveTxt, clock, log });
  const reserving = {
    ...proof,
    domainChecks,
    httpsPort: () => edges.httpsPort() ?? options.httpsPort ?? 443,
    requireReservation,
    tcpPorts,
    allowLocalUpstreams: options.allowLocalUpstreams ?? false,
  };
  const surroundings = { clock, ...reserving, liveObjects, keys, events, provisioning };
  const server = await startServer({
    listen: options.listen,
    ...(apiUrl !== undefined && { apiUrl }),
    clock,
    log,
    metrics,
    keys,
    restriction: openSourceRestriction(store),
    origins: options.apiOrigins ?? [],
    limits: { ...defaultLimits, ...options.limits },
    ...makeOperations({ store, surroundings, queries, metrics, readiness, applied }),
  });
  const { address, port, family } = server.address;
  apiUrl ??= `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  return {
    address: server.address,
    apiUrl,
    async stop() {
      readiness.stop();
      loginKeys.cancel();
      const provisioned = provisioning.stop();
      applied.stop();
      await server.stop();
      await domainChecks.stop();
      await provisioned;
      await events.stop();
      await store.close();
    },
  };
}
