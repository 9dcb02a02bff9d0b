/** The control plane: storage, the management API, and the line to the edge, started and stopped together. */
import type { AddressInfo } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { makeMetrics } from "../lib/metrics.ts";
import { modules } from "../modules/index.ts";
import { resources as declared } from "../resources/index.ts";
import type { Downward, Link, Problem, Upward } from "../routing/planes/messages.ts";
import { openStore } from "../storage/open.ts";
import type { Quotas } from "../storage/quotas.ts";
import type { Store } from "../storage/store.ts";
import { trackApplied } from "./edges/applied.ts";
import { openKeyRing } from "./http/authenticate.ts";
import { makeCommands } from "./edges/commands.ts";
import { startEvents } from "./events/dispatcher.ts";
import type { AwsSettings } from "./events/targets/target.ts";
import { ensureFirstTokens } from "./first-start.ts";
import type { FirstTokens } from "./first-start.ts";
import { openLiveObjects } from "./edges/live-objects.ts";
import { makeOperations } from "./operations.ts";
import { openProvisioning } from "./provisioning/provisioning.ts";
import { defaultAcmeSettings } from "./provisioning/settings.ts";
import type { AcmeSettings } from "./provisioning/settings.ts";
import { startPublishing } from "./edges/publish.ts";
import { openSourceRestriction } from "./http/source-restriction.ts";
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
  /** Hostports need a reserved domain first. */
  readonly requireReservedDomains?: boolean;
  /** Ports that reserved addresses are given, both ends included; 20000 to 29999 unless given. */
  readonly tcpPorts?: { readonly first: number; readonly last: number } | undefined;
  /** Who issues certificates; an authority whose terms nobody has agreed to, unless given. */
  readonly acme?: AcmeSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Tokens that must work; on a first start the ones that are absent are made. */
  readonly bootstrap: { readonly apiKey?: string; readonly authtoken?: string };
  readonly limits?: Partial<ApiLimits>;
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

/** Rejects when the database cannot be opened or the address is taken. */
export async function startControlPlane(
  options: ControlPlaneOptions,
  link: Link<Downward, Upward>,
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
    return { ...(await serve(options, store, link)), ...(firstStart && { firstStart }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serve(options: ControlPlaneOptions, store: Store, link: Link<Downward, Upward>): Promise<ControlPlane> {
  const { clock, log } = options;
  const metrics = makeMetrics();
  const liveObjects = openLiveObjects(store);
  const keys = openKeyRing(store, clock);
  const commands = makeCommands(link, clock);
  const publisher = startPublishing(store, link);
  const provisioning = openProvisioning({ store, settings: options.acme ?? defaultAcmeSettings, clock, log, metrics });
  const problems = new Map<string, Problem>();
  let appliedRevision: number | undefined;
  const applied = trackApplied(clock);
  metrics.gauge("postern_revision", "Revision of the last committed write.", () => store.revision);
  metrics.gauge("postern_revision_applied", "Revision that the edge serves.", () => appliedRevision ?? 0);
  metrics.gauge("postern_tunnel_sessions", "Connected agents.", () => liveObjects.count("tunnel_session"));
  metrics.gauge("postern_tunnels", "Online tunnels.", () => liveObjects.count("tunnel"));
  metrics.gauge("postern_configuration_problems", "Modules that an edge could not compile.", () => problems.size);
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
    send: (message) => link.send(message),
  });
  link.receive((message) => {
    applied.receive(message);
    if (message.type === "hello") publisher.sendSnapshot();
    if (message.type === "applied") {
      appliedRevision = message.revision;
      provisioning.applied(message.revision);
    }
    events.receive(message);
    if (message.type === "problems") noteProblems(problems, message.problems, log);
    if (!liveObjects.receive(message)) commands.receive(message);
  });
  const readiness = {
    reason() {
      if (store.condition !== "open") return `the database is ${store.condition}`;
      return appliedRevision === undefined ? "no edge has a configuration yet" : undefined;
    },
  };
  const requireReservation = options.requireReservedDomains ?? false;
  const domain = options.domain.toLowerCase();
  const tcpPorts = options.tcpPorts ?? defaultTcpPorts;
  const surroundings = { clock, domain, liveObjects, keys, requireReservation, tcpPorts, events, provisioning };
  const server = await startServer({
    listen: options.listen,
    ...(apiUrl !== undefined && { apiUrl }),
    clock,
    log,
    metrics,
    keys,
    restriction: openSourceRestriction(store),
    limits: { ...defaultLimits, ...options.limits },
    ...makeOperations({ store, surroundings, commands, metrics, readiness, applied }),
  });
  const { address, port, family } = server.address;
  apiUrl ??= `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  return {
    address: server.address,
    apiUrl,
    async stop() {
      applied.stop();
      await server.stop();
      await provisioning.stop();
      await events.stop();
      await store.close();
    },
  };
}

function noteProblems(kept: Map<string, Problem>, problems: readonly Problem[], log: Log): void {
  for (const problem of problems) {
    const { kind, id, module, message } = problem;
    const key = `${kind} ${id} ${module ?? ""}`;
    if (message === undefined) kept.delete(key);
    else {
      kept.set(key, problem);
      log.warn("configuration could not be put into effect", { kind, id, module, error: message });
    }
  }
}
