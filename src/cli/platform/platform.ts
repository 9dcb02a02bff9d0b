/**
 * Runs the platform as one process: opens the data directory, starts both planes on it, and returns their addresses.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import type { DevelopmentProvider } from "../../api/logins/addresses-operation.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log, LogLine } from "../../lib/log.ts";
import { idpUrl } from "../../lib/server-names.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import type { PlatformSettings } from "../../settings/settings.ts";
import { mayHold } from "../../storage/database-place.ts";
import { keepAuthority, openDataDirectory, readUsableAuthority } from "../data/data-directory.ts";
import type { DataDirectory } from "../data/data-directory.ts";
import { dataFiles } from "../data/data-files.ts";
import { announceServer, withdrawServer } from "../data/local-server.ts";
import { logFormOf } from "../process/log-output.ts";
import { telemetryPlan } from "../telemetry/telemetry-plan.ts";
import { openAccessLog } from "./access-log-file.ts";
import { checkEdges } from "./edge-count.ts";
import { startPlanes } from "./planes.ts";
import { checkListeners, startFailure } from "./start-failure.ts";
import type { TelemetryService } from "./telemetry-service.ts";

/** Receiver of log lines that is known after the log was opened. */
export interface LogTap {
  take?: (line: LogLine) => void;
}

export interface PlatformOptions extends PlatformSettings {
  readonly log: Log;
  /** Passes the lines of `log` to the telemetry. */
  readonly logTap?: LogTap;
  readonly version: string;
  /** Identity provider on this machine that accepts every login, offered to the makers of routes. */
  readonly developmentProvider?: DevelopmentProvider | undefined;
  readonly clock?: Clock;
  /** Maximum time for each plane to drain, milliseconds. Default: 10 s. */
  readonly drainMs?: number;
}

export interface Platform {
  readonly apiUrl: string;
  readonly apiPort: number;
  readonly httpsPort: number;
  readonly httpPort: number | undefined;
  readonly agentPort: number;
  /** Absent without an SSH listener. */
  readonly sshPort?: number;
  /** Fingerprint of the SSH host key. Absent without an SSH listener. */
  readonly sshHostKey?: string;
  /** HTTPS port in public URLs. */
  readonly publicHttpsPort: number;
  /** URL to which visitors return from their logins. */
  readonly idpUrl: string;
  readonly domain: string;
  readonly apiKey: string;
  readonly authtoken: string;
  readonly caPem: string;
  readonly caFile: string;
  /** Whether this start created the credentials. */
  readonly firstStart: boolean;
  /** Reopens the access log, and reads files about addresses and the server's own CA again. Failures are logged. */
  reload(): void;
  /** Drains and stops both planes. */
  stop(): Promise<void>;
  /** Stops the control plane only. The edge continues to serve. */
  stopControlPlane(): Promise<void>;
  /** Starts a stopped control plane on its previous port. */
  startControlPlane(): Promise<void>;
}

const defaultDrainMs = 10_000;

/**
 * Resolves when both planes are ready. Throws `Failure` (usage) if the data directory is unusable or a port is in use.
 */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { log, version, developmentProvider, data, domain, clock = systemClock, drainMs = defaultDrainMs } = options;
  const { httpsListen, httpListen, agentListen } = options;
  checkListeners(options);
  await checkEdges(options.edges ?? 1, [httpsListen, httpListen, agentListen]).catch((error: unknown) => {
    throw startFailure(error, options);
  });
  const accessLog = openAccessLog(options, log);
  const kept = await openKept(options, clock);
  const telemetry = await openTelemetry(options, clock);
  const shared = { kept, version, developmentProvider, clock, log, accessLog, telemetry, drainMs };
  const planes = startPlanes({ settings: options, ...shared });
  const ports = await planes.started.catch(async (error: unknown) => {
    await telemetry?.stop();
    throw startFailure(error, options);
  });
  const apiUrl = options.apiUrl ?? `http://${hostOf(options.apiListen)}:${ports.apiPort}`;
  const publicHttpsPort = options.httpsPort ?? ports.httpsPort;
  const idp = idpUrl(options, publicHttpsPort);
  const agentAddress = `${hostOf(options.agentListen)}:${ports.agentPort}`;
  const authority = ports.sharedKeys?.authority ?? kept.authority;
  try {
    if (authority.certificatePem !== kept.authority.certificatePem) keepAuthority(data, authority);
    const { loginIssuer: loginIssuers } = options;
    announceServer(data, {
      apiUrl,
      agentAddress,
      idpUrl: idp,
      httpsPort: ports.httpsPort,
      loginIssuers,
      pid: process.pid,
    });
  } catch (error) {
    // The platform serves traffic anyway (S3).
    log.error("commands on this machine will not find the server automatically: set its address for each command", {
      error,
    });
  }
  return {
    ...ports,
    apiUrl,
    publicHttpsPort,
    idpUrl: idp,
    domain,
    apiKey: kept.apiKey,
    authtoken: kept.authtoken,
    caPem: authority.certificatePem,
    caFile: join(data, dataFiles.caCertificate),
    firstStart: kept.firstStart,
    reload() {
      accessLog?.reopen();
      planes.rereadAddresses();
      const files = [dataFiles.caCertificate, dataFiles.caKey].map((name) => join(data, name));
      if (ports.sharedKeys) return log.warn("did not read the CA again: the servers of a cluster share it", { files });
      try {
        planes.replaceAuthority(readUsableAuthority(data));
        log.info("read the CA again: new connections get certificates of this CA", { files });
      } catch (error) {
        log.error("could not read the CA again: the previous one stays in use", { error: (error as Error).message });
      }
    },
    async stop() {
      withdrawServer(data);
      await planes.stop();
      await telemetry?.stop();
      await accessLog?.close();
    },
    stopControlPlane: () => planes.stopControlPlane(),
    startControlPlane: () => planes.startControlPlane(),
  };
}

async function openTelemetry(options: PlatformOptions, clock: Clock): Promise<TelemetryService | undefined> {
  const { log, version, domain, nameServer, watchdogSeconds: watchSeconds, logTap } = options;
  const plan = telemetryPlan(options, version, `${domain}:${hostname()}:${process.pid}`);
  if (plan === undefined) return undefined;
  const { TelemetryService: Service } = await import("./telemetry-service.ts");
  const service = new Service({ plan, nameServer, log, logForm: logFormOf(options), clock, watchSeconds });
  if (logTap) logTap.take = (line) => service.logged(line);
  return service;
}

async function openKept(options: PlatformOptions, clock: Clock): Promise<DataDirectory> {
  const { data, bootstrapApiKey: apiKey, bootstrapAuthtoken: authtoken, log } = options;
  const chosen = { apiKey, authtoken, sealingKey: options.sealingKey };
  return await openDataDirectory(data, chosen, async (sealingKey) => {
    // Load storage into this thread only if this start must create something for existing data.
    if (!mayHold(options.database, data)) return;
    try {
      const { checkStore } = await import("../../storage/opening/open-store.ts");
      await checkStore({ ...options, dataDirectory: data, sealingKey, clock, log });
    } catch (error) {
      throw startFailure(error, options);
    }
  });
}

/** Returns the host at which this machine reaches a listener. */
function hostOf(address: ListenAddress): string {
  if (address.host === undefined || address.host === "0.0.0.0" || address.host === "::") return "localhost";
  return address.host.includes(":") ? `[${address.host}]` : address.host;
}
