/** The platform as one process: control plane and edge in threads of their own, started, linked and stopped here. */
import { join, resolve } from "node:path";
import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { DomainProof } from "../../api/domain-proof/rules.ts";
import type { AwsSettings } from "../../api/events/targets/target.ts";
import { defaultAcmeSettings } from "../../api/provisioning/settings.ts";
import type { AcmeSettings } from "../../api/provisioning/settings.ts";
import type { LoginSettings } from "../../identity/settings.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SuffixRules } from "../../lib/public-suffix.ts";
import { dataFiles, openDataDirectory } from "./data-directory.ts";
import type { ChosenSecrets } from "./data-directory.ts";
import { defaultWebhookSettings } from "../../traffic/parts/webhook-check.ts";
import type { WebhookSettings } from "../../traffic/parts/webhook-check.ts";
import type { Quotas } from "../../storage/quotas.ts";
import { announceServer, withdrawServer } from "./local-server.ts";
import { startFailure } from "./start-failure.ts";
import type { ListenAddress, PortRange } from "../settings/setting.ts";
import type { ControlPlaneFacts, ControlPlaneThreadOptions } from "./threads/control-plane.ts";
import type { EdgeFacts, EdgeThreadOptions } from "./threads/edge.ts";
import { supervise } from "./threads/supervise.ts";
import type { LogSettings } from "./threads/thread-messages.ts";

export interface PlatformOptions {
  /** The data directory. */
  readonly data: string;
  /** A SQLite file or `postgres://…`; a file in the data directory unless given. */
  readonly database: string | undefined;
  /** Days for which revisions are kept; all are kept unless given, or when 0. */
  readonly historyDays?: number;
  readonly apiListen: ListenAddress;
  /** The API's base URL as clients reach it; from where it listens unless given. */
  readonly apiUrl: string | undefined;
  readonly httpsListen: ListenAddress;
  /** The port in public URLs; the listener's unless given. */
  readonly httpsPort: number | undefined;
  readonly httpListen: ListenAddress | undefined;
  readonly agentListen: ListenAddress;
  /** Where TCP edges and tcp tunnels are listened on; every address unless given. */
  readonly tcpBind?: string | undefined;
  /** Ports that tcp tunnels and reserved addresses are given; the planes's own default unless given. */
  readonly tcpPorts?: PortRange | undefined;
  readonly domain: string;
  /** Networks of proxies that speak the PROXY protocol to the public listeners, in CIDR notation. */
  readonly trustedProxies?: readonly string[];
  /** Networks of HTTP proxies whose X-Forwarded-For is believed, in CIDR notation. */
  readonly trustedForwarders?: readonly string[];
  /** The modules' own unless given. */
  readonly webhooks?: WebhookSettings;
  /** What of logins is not as it is by itself. */
  readonly logins?: Partial<Omit<LoginSettings, "httpsPort">>;
  /** Also lets events go to addresses that are not public, and without TLS. */
  readonly allowLocalUpstreams?: boolean;
  readonly requireReservedDomains?: boolean;
  /** What counts as a public suffix; the public suffix list alone unless given. */
  readonly suffixes?: SuffixRules;
  /** How accounts prove that names outside of `domain` are theirs; not at all unless given. */
  readonly domainProof?: DomainProof;
  /** The server's own access to AWS; event destinations take no roles unless given. */
  readonly aws?: AwsSettings | undefined;
  /** Who issues certificates; nobody unless given. */
  readonly acme?: AcmeSettings;
  /** Origins whose pages may call the API; none unless given. */
  readonly apiOrigins?: readonly string[];
  /** Requests a minute per API key; the API's own limit when absent. */
  readonly apiRate?: number;
  /** What each account may store; storage's own quotas when absent. */
  readonly quotas?: Quotas;
  readonly chosen: ChosenSecrets;
  readonly log: Log;
  readonly logSettings: LogSettings;
  readonly version: string;
  readonly clock?: Clock;
  /** How long each plane may take to finish what is under way, milliseconds; 10 s unless given. */
  readonly drainMs?: number;
}

export interface Platform {
  readonly apiUrl: string;
  readonly apiPort: number;
  readonly httpsPort: number;
  readonly httpPort: number | undefined;
  readonly agentPort: number;
  /** The port in public URLs. */
  readonly publicHttpsPort: number;
  readonly domain: string;
  readonly apiKey: string;
  readonly authtoken: string;
  readonly caPem: string;
  readonly caFile: string;
  /** The credentials were made by this start. */
  readonly firstStart: boolean;
  /** Drains and ends both planes. */
  stop(): Promise<void>;
  /** Ends the control plane alone; the edge serves on. */
  stopControlPlane(): Promise<void>;
  /** Starts a control plane that was stopped; on the port it had. */
  startControlPlane(): Promise<void>;
}

const defaultDrainMs = 10_000;

/**
 * Resolves when both planes are ready. Throws `Failure` (usage) when the data directory cannot be used or a port
 * is taken.
 */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { log, logSettings, domain } = options;
  const clock = options.clock ?? systemClock;
  const drainMs = options.drainMs ?? defaultDrainMs;
  const directory = resolve(options.data);
  const database = options.database ?? dataFiles.database;
  const kept = await openDataDirectory(directory, options.chosen, async (sealingKey) => {
    try {
      // Only a start that has something to make needs storage in this thread.
      const { checkStore } = await import("../../storage/open.ts");
      await checkStore({ database, dataDirectory: directory, sealingKey, clock, log });
    } catch (error) {
      throw startFailure(error, []);
    }
  });

  // Each plane's next line: the other end waits here until the other plane takes it.
  let lines = new MessageChannel();
  let controlFacts: ControlPlaneFacts | undefined;
  const controlLine = lineOf("port1");
  const edgeLine = lineOf("port2");

  function lineOf(mine: "port1" | "port2"): () => MessagePort {
    let first = true;
    return () => {
      if (first) {
        first = false;
        return lines[mine];
      }
      lines = new MessageChannel();
      if (mine === "port1") edge.relink(lines.port2);
      else control.relink(lines.port1);
      return lines[mine];
    };
  }

  const startControl = () =>
    supervise<ControlPlaneThreadOptions, ControlPlaneFacts>({
      name: "control plane",
      file: new URL("./threads/control-plane.ts", import.meta.url),
      log,
      logSettings,
      clock,
      line: controlLine,
      options: (facts) => ({
        listen: { ...options.apiListen, port: (facts ?? controlFacts)?.port ?? options.apiListen.port },
        apiUrl: options.apiUrl,
        database,
        dataDirectory: directory,
        historyDays: options.historyDays ?? 0,
        sealingKeys: kept.sealingKeys,
        domain,
        httpsPort: options.httpsPort ?? (options.httpsListen.port || undefined),
        requireReservedDomains: options.requireReservedDomains ?? false,
        suffixes: options.suffixes ?? { more: [], allowed: [] },
        allowLocalUpstreams: options.allowLocalUpstreams ?? false,
        domainProof: options.domainProof ?? "none",
        tcpPorts: options.tcpPorts,
        acme: options.acme ?? defaultAcmeSettings,
        apiOrigins: options.apiOrigins ?? [],
        apiRate: options.apiRate,
        quotas: options.quotas,
        events: { allowPrivate: options.allowLocalUpstreams ?? false, aws: options.aws },
        loginIdleDays: options.logins?.idleDays,
        bootstrap: { apiKey: kept.apiKey, authtoken: kept.authtoken },
      }),
    });
  let control = startControl();
  const edge = supervise<EdgeThreadOptions, EdgeFacts>({
    name: "edge",
    file: new URL("./threads/edge.ts", import.meta.url),
    log,
    logSettings,
    clock,
    line: edgeLine,
    options: (facts) => ({
      httpsListen: { ...options.httpsListen, port: facts?.httpsPort ?? options.httpsListen.port },
      httpListen: options.httpListen && { ...options.httpListen, port: facts?.httpPort ?? options.httpListen.port },
      agentListen: { ...options.agentListen, port: facts?.agentPort ?? options.agentListen.port },
      tcpHost: options.tcpBind,
      tcpPorts: options.tcpPorts,
      domain,
      requireReservedNames: (options.domainProof ?? "none") !== "none",
      proxies: options.trustedProxies ?? [],
      forwarders: options.trustedForwarders ?? [],
      webhooks: options.webhooks ?? defaultWebhookSettings,
      logins: options.logins ?? {},
      advertisedHttpsPort: options.httpsPort,
      allowLocalUpstreams: options.allowLocalUpstreams ?? false,
      authority: kept.authority,
      tunnelSecret: kept.tunnelSecret,
      region: "local",
      serverVersion: options.version,
      drainMs,
    }),
  });

  const stop = async (): Promise<void> => {
    withdrawServer(directory);
    await edge.stop(drainMs + 1_000);
    await control.stop(drainMs + 1_000);
  };
  const started = await Promise.all([control.started, edge.started]).catch(async (error: unknown) => {
    await Promise.all([control.stop(drainMs), edge.stop(drainMs)]);
    throw startFailure(error, [
      { what: "the management API", flag: "--api-listen", address: options.apiListen },
      { what: "the HTTPS edge", flag: "--https-listen", address: options.httpsListen },
      { what: "the agent listener", flag: "--agent-listen", address: options.agentListen },
      ...(options.httpListen
        ? [{ what: "the redirect to HTTPS", flag: "--http-listen", address: options.httpListen }]
        : []),
    ]);
  });
  const facts = started[1];
  controlFacts = started[0];
  const apiUrl = options.apiUrl ?? `http://${hostOf(options.apiListen)}:${started[0].port}`;
  try {
    announceServer(directory, {
      apiUrl,
      agentAddress: `${hostOf(options.agentListen)}:${facts.agentPort}`,
      pid: process.pid,
    });
  } catch (error) {
    // It serves nonetheless (S3).
    log.error("commands on this machine will not find the server by themselves: give them its address", { error });
  }
  return {
    apiUrl,
    apiPort: started[0].port,
    httpsPort: facts.httpsPort,
    httpPort: facts.httpPort,
    agentPort: facts.agentPort,
    publicHttpsPort: options.httpsPort ?? facts.httpsPort,
    domain,
    apiKey: kept.apiKey,
    authtoken: kept.authtoken,
    caPem: kept.authority.certificatePem,
    caFile: join(directory, dataFiles.caCertificate),
    firstStart: kept.firstStart,
    stop,
    stopControlPlane: () => control.stop(drainMs),
    async startControlPlane() {
      control = startControl();
      await control.started;
    },
  };
}

/** Where this machine reaches a listener. */
function hostOf(address: ListenAddress): string {
  if (address.host === undefined || address.host === "0.0.0.0" || address.host === "::") return "localhost";
  return address.host.includes(":") ? `[${address.host}]` : address.host;
}
