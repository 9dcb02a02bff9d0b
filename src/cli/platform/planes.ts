/** Runs the control plane and the edges in linked threads: their start options and the order in which they stop. */
import type { Clock } from "../../lib/clock.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Log } from "../../lib/log.ts";
import { idpHostOf } from "../../lib/server-names.ts";
import { controlPlaneSettings } from "../../settings/control-plane.ts";
import { edgeSettings } from "../../settings/edge.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { sliceOf } from "../../settings/setting.ts";
import type { PlatformSettings } from "../../settings/settings.ts";
import type { DataDirectory } from "../data/data-directory.ts";
import { logFormOf } from "../process/log-output.ts";
import type { ControlPlanePorts, ControlPlaneThreadOptions } from "./threads/control-plane.ts";
import type { EdgePorts, EdgeThreadOptions } from "./threads/edge.ts";
import type { SshPorts } from "./threads/ssh.ts";
import type { DevelopmentProvider } from "../../api/logins/addresses-operation.ts";
import type { SharedKeys, ServerKeys } from "../../api/nodes/shared-keys.ts";
import type { PeerOptions } from "../../edge/edge-options.ts";
import type { AccessLogFile } from "./access-log-file.ts";
import { captureDirectory, CaptureService } from "./capture-service.ts";
import { openPeerRoom } from "./peer-room.ts";
import type { TelemetryService } from "./telemetry-service.ts";
import type { PeerRoom } from "./peer-room.ts";
import { startSshService } from "./ssh-service.ts";
import { trafficHeap } from "./threads/heap.ts";
import { holdBundledThreads } from "./threads/hold-programs.ts";
import { makeLine } from "./threads/line.ts";
import { supervise } from "./threads/supervise.ts";
import type { Supervised } from "./threads/supervise.ts";

export interface PlanesOptions {
  readonly settings: PlatformSettings;
  readonly kept: DataDirectory;
  readonly version: string;
  /** Development identity provider offered to the makers of routes; undefined without one. */
  readonly developmentProvider: DevelopmentProvider | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent without an access log. */
  readonly accessLog: AccessLogFile | undefined;
  /** Absent if no telemetry is sent. */
  readonly telemetry: Pick<TelemetryService, "share" | "threadReady"> | undefined;
  /** Maximum time for each plane to drain, milliseconds. */
  readonly drainMs: number;
}

export interface Planes {
  /** Resolves when all planes run for the first time. Rejects, with all planes stopped, if one cannot start. */
  readonly started: Promise<ControlPlanePorts & EdgePorts & Partial<SshPorts>>;
  /** Drains and stops the edges, then the control plane. */
  stop(): Promise<void>;
  /** The edges present certificates of the new CA from the next handshake. */
  replaceAuthority(authority: KeyedCertificate): void;
  /** Stops the control plane only. The edges continue to serve. */
  stopControlPlane(): Promise<void>;
  /** Starts a stopped control plane on its previous port. */
  startControlPlane(): Promise<void>;
}

/** Margin over the time that a plane allows itself, milliseconds. */
const stopMarginMs = 2_000;
/** A load balancer checks `/readyz` at least this often, milliseconds. */
const checkedWithinMs = 60_000;

export function startPlanes(options: PlanesOptions): Planes {
  holdBundledThreads();
  const { clock, log, drainMs, accessLog } = options;
  const { watchdogSeconds: watchSeconds } = options.settings;
  const started = { log, logForm: logFormOf(options.settings), clock, watchSeconds };
  const { telemetry } = options;
  const shared = { ...started, telemetry: telemetry?.share };
  const count = options.settings.edges ?? 1;
  const room = count > 1 || options.settings.sshListen ? openPeerRoom() : undefined;
  const edges: Supervised<EdgePorts>[] = [];
  let { authority } = options.kept;
  const takeEnds = Array.from({ length: count }, (_one, at) =>
    makeLine((to, end) => (to === "edge" ? edges[at]?.relink(0, end) : control.relink(at, end))),
  );
  let apiPort: number | undefined;
  let sharedKeys: SharedKeys | undefined;
  let checkedAt = -Infinity;
  const startControl = (): Supervised<ControlPlanePorts> =>
    supervise<ControlPlaneThreadOptions, ControlPlanePorts>({
      ...shared,
      name: "control plane",
      file: new URL("./threads/control-plane.ts", import.meta.url),
      lines: () => takeEnds.map((take) => take("control plane")),
      readinessChecked: () => void (checkedAt = clock.monotonic()),
      ready: (tell) => telemetry?.threadReady("control plane", { tell }),
      options: (ports) => controlPlaneOptions(options, ports?.apiPort ?? apiPort),
    });
  let control = startControl();
  /** @param first ports that another edge has chosen */
  const startEdge = (at: number, first?: EdgePorts): Supervised<EdgePorts> => {
    const take = takeEnds[at] as (typeof takeEnds)[number];
    const name = count === 1 ? "edge" : `edge ${at + 1}`;
    const edge = supervise<EdgeThreadOptions, EdgePorts>({
      ...shared,
      name,
      file: new URL("./threads/edge.ts", import.meta.url),
      heap: trafficHeap,
      lines: () => [take("edge")],
      accessLines: (batch, written) => accessLog?.write(batch, written),
      captureWanted: () => capture.wanted(),
      ready: (tell) => {
        capture.edgeReady({ tell });
        telemetry?.threadReady(name, { tell });
      },
      options: (ports) => {
        const peers = peerOptions(options.settings, at, count, room, sharedKeys);
        const gatewayPath = options.settings.sshListen && room?.gatewayPath(at);
        const keys = sharedKeys ?? { ...options.kept, authority };
        return { ...edgeOptions(options, ports ?? first, keys), number: at + 1, peers, gatewayPath };
      },
    });
    edges[at] = edge;
    return edge;
  };
  const capture = new CaptureService({
    ...started,
    data: options.settings.data,
    maxBytes: options.settings.captureMaxBytes,
    keys: async () => (await control.started).captureKeys,
    edges: () => edges,
  });
  /** If the first edge can listen, all can. */
  const startEdges = async (): Promise<EdgePorts> => {
    const ports = await startEdge(0).started;
    await Promise.all(takeEnds.slice(1).map((_take, at) => startEdge(at + 1, ports).started));
    return ports;
  };
  let ssh: Supervised<SshPorts> | undefined;
  const stopEdges = (boundMs: number): Promise<unknown> => Promise.all(edges.map((edge) => edge.stop(boundMs)));
  const allStarted = async (): Promise<ControlPlanePorts & EdgePorts & Partial<SshPorts>> => {
    try {
      const controlStarted = control.started;
      // All nodes of a cluster share these keys.
      if (options.settings.cluster) ({ sharedKeys } = await controlStarted);
      const [controlPorts, edgePorts] = await Promise.all([controlStarted, startEdges()]);
      apiPort = controlPorts.apiPort;
      // Before the edges run, they would turn SSH clients away.
      ssh = room && startSshService({ ...shared, ...options, ...(sharedKeys ?? options.kept), room, edges: count });
      return { ...controlPorts, ...edgePorts, ...(await ssh?.started) };
    } catch (error) {
      await Promise.all([control.stop(drainMs), stopEdges(drainMs), capture.stop(drainMs), ssh?.stop(drainMs)]);
      room?.close();
      throw error;
    }
  };
  return {
    started: allStarted(),
    async stop() {
      const boundMs = options.settings.drainDelay * 1000 + drainMs + stopMarginMs;
      const beganAt = clock.monotonic();
      // The agents of one edge serve the visitors of all edges, so every edge must drain before one stops.
      const isObserved = options.settings.cluster || beganAt - checkedAt < checkedWithinMs;
      await Promise.all(edges.map((edge) => edge.drain(boundMs, isObserved)));
      await stopEdges(Math.max(stopMarginMs, beganAt + boundMs - clock.monotonic()));
      await ssh?.stop(stopMarginMs);
      await capture.stop(stopMarginMs);
      await control.stop(drainMs + stopMarginMs);
      room?.close();
    },
    replaceAuthority(other) {
      authority = other;
      for (const edge of edges) edge.tell({ type: "authority", authority });
    },
    stopControlPlane: () => control.stop(drainMs),
    startControlPlane: async () => void (await (control = startControl()).started),
  };
}

/** @param apiPort port of the previous run */
function controlPlaneOptions(
  { settings, kept, version, developmentProvider }: PlanesOptions,
  apiPort: number | undefined,
): ControlPlaneThreadOptions {
  return {
    settings: { ...sliceOf(controlPlaneSettings, settings), apiListen: atPort(settings.apiListen, apiPort) },
    sealingKeys: kept.sealingKeys,
    version,
    developmentProvider,
    serverKeys: { authority: kept.authority, tunnelSecret: kept.tunnelSecret },
    bootstrap: { apiKey: kept.apiKey, authtoken: kept.authtoken },
    captureDirectory: captureDirectory(settings.data),
    backtestSettings: {
      ...sliceOf(edgeSettings, settings),
      httpsPort: settings.httpsPort ?? (settings.httpsListen.port || 443),
      takesDefaultPorts: settings.httpsPort === undefined,
      idpHost: idpHostOf(settings),
    },
  };
}

/** @param ports ports of the previous run or of another edge */
function edgeOptions(
  { settings, version, drainMs }: PlanesOptions,
  ports: EdgePorts | undefined,
  { authority, tunnelSecret }: ServerKeys,
): Omit<EdgeThreadOptions, "peers" | "number" | "gatewayPath"> {
  return {
    settings: {
      ...sliceOf(edgeSettings, settings),
      httpsListen: atPort(settings.httpsListen, ports?.httpsPort),
      httpListen: settings.httpListen && atPort(settings.httpListen, ports?.httpPort),
      agentListen: atPort(settings.agentListen, ports?.agentPort),
    },
    authority,
    tunnelSecret,
    serverVersion: version,
    drainMs,
  };
}

/** Returns how edge `at` and the other edges reach each other; undefined for a single edge. */
function peerOptions(
  { peerListen }: PlatformSettings,
  at: number,
  count: number,
  room: PeerRoom | undefined,
  keys: SharedKeys | undefined,
): PeerOptions | undefined {
  const beside = count > 1 ? room?.place() : undefined;
  if (!beside && !keys) return undefined;
  const port = peerListen.port === 0 ? 0 : peerListen.port + at;
  const nodes = keys && { listen: { ...peerListen, port }, authority: keys.peerAuthority };
  return { count, beside, nodes };
}

/** A restarted plane listens on its previous port, also if it was chosen automatically. */
function atPort(listen: ListenAddress, port: number | undefined): ListenAddress {
  return { ...listen, port: port ?? listen.port };
}
