/** Control plane and edges in threads of their own, linked: what each is started with, and in which order they end. */
import type { Clock } from "../../lib/clock.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Log } from "../../lib/log.ts";
import { controlPlaneSettings } from "../../settings/control-plane.ts";
import { edgeSettings } from "../../settings/edge.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { sliceOf } from "../../settings/setting.ts";
import type { PlatformSettings } from "../../settings/settings.ts";
import type { DataDirectory } from "../data/data-directory.ts";
import { logFormOf } from "../process/log-output.ts";
import type { ControlPlanePorts, ControlPlaneThreadOptions } from "./threads/control-plane.ts";
import type { EdgePorts, EdgeThreadOptions } from "./threads/edge.ts";
import type { DevelopmentProvider } from "../../api/logins/addresses-operation.ts";
import type { SharedKeys, ServerKeys } from "../../api/nodes/shared-keys.ts";
import type { PeerOptions } from "../../edge/edge-options.ts";
import type { UnixPlace } from "../../edge/peers/unix-transport.ts";
import { openPeerRoom } from "./peer-room.ts";
import { trafficHeap } from "./threads/heap.ts";
import { holdBundledThreads } from "./threads/hold-programs.ts";
import { makeLine } from "./threads/line.ts";
import { supervise } from "./threads/supervise.ts";
import type { Supervised } from "./threads/supervise.ts";

export interface PlanesOptions {
  readonly settings: PlatformSettings;
  readonly kept: DataDirectory;
  readonly version: string;
  /** For routes whose makers ask for one; undefined where there is none. */
  readonly developmentProvider: DevelopmentProvider | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** How long each plane may take to finish what is under way, milliseconds. */
  readonly drainMs: number;
}

export interface Planes {
  /** Resolves when all run for the first time; rejects when one cannot, with all ended. */
  readonly started: Promise<ControlPlanePorts & EdgePorts>;
  /** Drains the edges and then the control plane, and ends them. */
  stop(): Promise<void>;
  /** Has the edges show certificates of another authority from the next handshake on. */
  replaceAuthority(authority: KeyedCertificate): void;
  /** Ends the control plane alone; the edges serve on. */
  stopControlPlane(): Promise<void>;
  /** Starts a control plane that was stopped; on the port it had. */
  startControlPlane(): Promise<void>;
}

/** Over the time that a plane gives itself; milliseconds. */
const stopMarginMs = 1_000;

export function startPlanes(options: PlanesOptions): Planes {
  holdBundledThreads();
  const { clock, log, drainMs } = options;
  const { watchdogSeconds: watchSeconds } = options.settings;
  const shared = { log, logForm: logFormOf(options.settings), clock, watchSeconds };
  const count = options.settings.edges ?? 1;
  const room = count > 1 ? openPeerRoom() : undefined;
  const edges: Supervised<EdgePorts>[] = [];
  let { authority } = options.kept;
  const takeEnds = Array.from({ length: count }, (_one, at) =>
    makeLine((to, end) => (to === "edge" ? edges[at]?.relink(0, end) : control.relink(at, end))),
  );
  let apiPort: number | undefined;
  let sharedKeys: SharedKeys | undefined;
  const startControl = (): Supervised<ControlPlanePorts> =>
    supervise<ControlPlaneThreadOptions, ControlPlanePorts>({
      ...shared,
      name: "control plane",
      file: new URL("./threads/control-plane.ts", import.meta.url),
      lines: () => takeEnds.map((take) => take("control plane")),
      options: (ports) => controlPlaneOptions(options, ports?.apiPort ?? apiPort),
    });
  let control = startControl();
  /** @param first the ports that another edge has chosen */
  const startEdge = (at: number, first?: EdgePorts): Supervised<EdgePorts> => {
    const take = takeEnds[at] as (typeof takeEnds)[number];
    const edge = supervise<EdgeThreadOptions, EdgePorts>({
      ...shared,
      name: count === 1 ? "edge" : `edge ${at + 1}`,
      file: new URL("./threads/edge.ts", import.meta.url),
      heap: trafficHeap,
      lines: () => [take("edge")],
      options: (ports) => {
        const peers = peerOptions(options.settings, at, count, room?.place(), sharedKeys);
        return { ...edgeOptions(options, ports ?? first, sharedKeys ?? { ...options.kept, authority }), peers };
      },
    });
    edges[at] = edge;
    return edge;
  };
  /** All listen where the first one does. */
  const startEdges = async (): Promise<EdgePorts> => {
    const ports = await startEdge(0).started;
    await Promise.all(takeEnds.slice(1).map((_take, at) => startEdge(at + 1, ports).started));
    return ports;
  };
  const stopEdges = (boundMs: number): Promise<unknown> => Promise.all(edges.map((edge) => edge.stop(boundMs)));
  const allStarted = async (): Promise<ControlPlanePorts & EdgePorts> => {
    try {
      const controlStarted = control.started;
      // Edges of nodes have the keys that all nodes have.
      if (options.settings.cluster) ({ sharedKeys } = await controlStarted);
      const [controlPorts, edgePorts] = await Promise.all([controlStarted, startEdges()]);
      apiPort = controlPorts.apiPort;
      return { ...controlPorts, ...edgePorts };
    } catch (error) {
      await Promise.all([control.stop(drainMs), stopEdges(drainMs)]);
      room?.close();
      throw error;
    }
  };
  return {
    started: allStarted(),
    async stop() {
      const boundMs = options.settings.drainDelay * 1000 + drainMs + stopMarginMs;
      const beganAt = clock.monotonic();
      // One's agents serve the visitors of all: none is ended before all have finished theirs.
      await Promise.all(edges.map((edge) => edge.drain(boundMs)));
      await stopEdges(Math.max(stopMarginMs, beganAt + boundMs - clock.monotonic()));
      await control.stop(drainMs + stopMarginMs);
      room?.close();
    },
    replaceAuthority(other) {
      authority = other;
      for (const edge of edges) edge.tell({ type: "authority", authority });
    },
    stopControlPlane: () => control.stop(drainMs),
    async startControlPlane() {
      control = startControl();
      await control.started;
    },
  };
}

/** @param apiPort that of the run before */
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
  };
}

/** @param ports of the run before, or of another edge */
function edgeOptions(
  { settings, version, drainMs }: PlanesOptions,
  ports: EdgePorts | undefined,
  { authority, tunnelSecret }: ServerKeys,
): Omit<EdgeThreadOptions, "peers"> {
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

/** How the edge `at` and others reach one another; undefined where it is the only one. */
function peerOptions(
  { peerListen }: PlatformSettings,
  at: number,
  count: number,
  beside: UnixPlace | undefined,
  keys: SharedKeys | undefined,
): PeerOptions | undefined {
  if (!beside && !keys) return undefined;
  const port = peerListen.port === 0 ? 0 : peerListen.port + at;
  const nodes = keys && { listen: { ...peerListen, port }, authority: keys.peerAuthority };
  return { count, beside, nodes };
}

/** A plane that is started again listens where it did, also where it had chosen the port itself. */
function atPort(listen: ListenAddress, port: number | undefined): ListenAddress {
  return { ...listen, port: port ?? listen.port };
}
