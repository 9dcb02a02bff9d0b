/** Runs the control plane and the edges in linked threads: their start options and the order in which they stop. */
import type { MessagePort } from "node:worker_threads";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CaptureKey } from "../../capture/store/capture-keys.ts";
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
import type { ControlPlanePorts, ControlPlaneThreadOptions } from "./threads/control-plane-thread.ts";
import type { EdgePorts, EdgeThreadOptions } from "./threads/edge-thread.ts";
import type { SshPorts } from "./threads/ssh.ts";
import type { DevelopmentProvider } from "../../api/logins/addresses-operation.ts";
import type { SharedKeys, ServerKeys } from "../../api/nodes/shared-keys.ts";
import type { PeerOptions } from "../../edge/edge-options.ts";
import type { AccessLogFile } from "./access-log-file.ts";
import type { AddressData } from "../../geo/address-book.ts";
import { AddressService } from "./address-service.ts";
import { captureDirectory, CaptureService } from "./capture-service.ts";
import type { CaptureServiceOptions } from "./capture-service.ts";
import { openPeerRoom } from "./peer-room.ts";
import type { PeerRoom } from "./peer-room.ts";
import { startSshService } from "./ssh-service.ts";
import { trafficHeap } from "./threads/heap.ts";
import { holdBundledThreads } from "./threads/hold-programs.ts";
import { makeLine } from "./threads/thread-line.ts";
import { openEdgeStart } from "./threads/edge-start.ts";
import type { EdgeStart } from "./threads/edge-start.ts";
import { superviseThread } from "./threads/supervise.ts";
import type { ServerProblem } from "./threads/thread-messages.ts";
import type { Supervised, ThreadPlan, ThreadTelemetry } from "./threads/supervise.ts";

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
  readonly telemetry: ThreadTelemetry | undefined;
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
  /** Reads the operator's files about addresses again if they have changed. */
  rereadAddresses(): void;
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
  const { clock, log, drainMs } = options;
  const { watchdogSeconds: watchSeconds } = options.settings;
  const shared = { log, logForm: logFormOf(options.settings), clock, watchSeconds, telemetry: options.telemetry };
  const count = options.settings.edges ?? 1;
  const room = count > 1 || options.settings.sshListen ? openPeerRoom() : undefined;
  const edges: Supervised<EdgePorts>[] = [];
  let { authority } = options.kept;
  const takeEnds = Array.from({ length: count }, (_one, at) =>
    makeLine((to, end) => (to === "edge" ? edges[at]?.relink(0, end) : control.relink(at, end))),
  );
  const problems = collectProblems({ control: () => control });
  const service = openAddresses(options, { edges, control: () => control }, problems.tell);
  let apiPort: number | undefined;
  let sharedKeys: SharedKeys | undefined;
  let checkedAt = -Infinity;
  const startControl = (): Supervised<ControlPlanePorts> =>
    superviseThread<ControlPlaneThreadOptions, ControlPlanePorts>({
      ...shared,
      name: "control plane",
      file: new URL("./threads/control-plane-thread.ts", import.meta.url),
      lines: () => takeEnds.map((take) => take("control plane")),
      readinessChecked: () => void (checkedAt = clock.monotonic()),
      ready: (tell) => problems.controlPlaneReady(tell, service.data),
      options: (ports) => controlPlaneOptions(options, ports?.apiPort ?? apiPort),
    });
  let control: Supervised<ControlPlanePorts> = startControl();
  const keys = async (): Promise<readonly CaptureKey[]> => (await control.started).captureKeys;
  const capture = new CaptureService({ ...shared, ...captureOptions(options), keys, edges: () => edges });
  const start = openEdgeStart(count);
  const startEdge = (at: number, first?: EdgePorts): Supervised<EdgePorts> =>
    (edges[at] = superviseEdge(options, {
      start,
      at,
      count,
      first,
      room,
      capture,
      addresses: service,
      shared,
      takeEnd: takeEnds[at] as (typeof takeEnds)[number],
      sharedKeys: () => sharedKeys,
      ownKeys: () => ({ ...options.kept, authority }),
    }));
  let ssh: Supervised<SshPorts> | undefined;
  const close = async (controlMs: number): Promise<void> => {
    service.stop();
    await ssh?.stop(stopMarginMs);
    await capture.stop(stopMarginMs);
    await control.stop(controlMs);
    room?.close();
  };
  const stopEdges = (boundMs: number): Promise<unknown> => Promise.all(edges.map((edge) => edge.stop(boundMs)));
  const allStarted = async (): Promise<ControlPlanePorts & EdgePorts & Partial<SshPorts>> => {
    try {
      const controlStarted = control.started;
      controlStarted.catch(() => {});
      // The edges need the operator's data from the first request on.
      await service.start();
      // The control plane may have started before the files were loaded.
      if (service.data) control.tell({ type: "addresses", data: service.data });
      // All nodes of a cluster share these keys.
      if (options.settings.cluster) ({ sharedKeys } = await controlStarted);
      const [controlPorts, edgePorts] = await Promise.all([controlStarted, startEdges(count, start, startEdge)]);
      apiPort = controlPorts.apiPort;
      // Before the edges run, they would turn SSH clients away.
      const sshPlan = { ...shared, ...options, ...(sharedKeys ?? options.kept), edges: count };
      ssh = room && startSshService({ ...sshPlan, room, problem: problems.tell });
      return { ...controlPorts, ...edgePorts, ...(await ssh?.started) };
    } catch (error) {
      await Promise.all([stopEdges(drainMs), close(drainMs)]);
      throw error;
    }
  };
  return {
    started: allStarted(),
    async stop() {
      const boundMs = options.settings.drainDelay * 1000 + drainMs + stopMarginMs;
      const beganAt = clock.monotonic();
      await ssh?.drain(stopMarginMs, false);
      // The agents of one edge serve the visitors of all edges, so every edge must drain before one stops.
      const isObserved = options.settings.cluster || beganAt - checkedAt < checkedWithinMs;
      await Promise.all(edges.map((edge) => edge.drain(boundMs, isObserved)));
      await stopEdges(Math.max(stopMarginMs, beganAt + boundMs - clock.monotonic()));
      await close(drainMs + stopMarginMs);
    },
    replaceAuthority(other) {
      authority = other;
      for (const edge of edges) edge.tell({ type: "authority", authority });
    },
    rereadAddresses: () => runUnattended("task", service.look(true)),
    stopControlPlane: () => control.stop(drainMs),
    startControlPlane: async () => void (await (control = startControl()).started),
  };
}

/** Starts the first edge, and then the others with its ports. If the first edge can listen, all can. */
async function startEdges(
  count: number,
  { first }: EdgeStart,
  startEdge: (at: number, first?: EdgePorts) => Supervised<EdgePorts>,
): Promise<EdgePorts> {
  const { started } = startEdge(0);
  const ports = await Promise.race([started, first]);
  const others = Array.from({ length: count - 1 }, (_one, at) => startEdge(at + 1, ports).started);
  await Promise.all([started, ...others]);
  return await started;
}

interface EdgePlan {
  readonly start: EdgeStart;
  /** Index of the edge at this node. */
  readonly at: number;
  readonly count: number;
  /** Ports that another edge has chosen. */
  readonly first: EdgePorts | undefined;
  readonly room: PeerRoom | undefined;
  readonly capture: CaptureService;
  readonly addresses: AddressService;
  readonly shared: Pick<
    ThreadPlan<EdgeThreadOptions, EdgePorts>,
    "log" | "logForm" | "clock" | "watchSeconds" | "telemetry"
  >;
  readonly takeEnd: (of: "edge") => MessagePort;
  readonly sharedKeys: () => SharedKeys | undefined;
  readonly ownKeys: () => ServerKeys;
}

function superviseEdge(options: PlanesOptions, plan: EdgePlan): Supervised<EdgePorts> {
  const { at, count, room, capture, addresses, sharedKeys } = plan;
  const { settings, accessLog } = options;
  return superviseThread<EdgeThreadOptions, EdgePorts>({
    ...plan.shared,
    name: count === 1 ? "edge" : `edge ${at + 1}`,
    file: new URL("./threads/edge-thread.ts", import.meta.url),
    heap: trafficHeap,
    lines: () => [plan.takeEnd("edge")],
    accessLines: (batch, written) => accessLog?.write(batch, written),
    captureWanted: () => capture.wanted(),
    addressesWanted: () => runUnattended("task", addresses.wanted()),
    prepared: (ports, tell) => plan.start.prepared(at, ports, tell),
    ready: (tell) => capture.edgeReady({ tell }),
    options: (ports) => ({
      ...edgeOptions(options, ports ?? plan.first, sharedKeys() ?? plan.ownKeys()),
      // Without a fixed port, no agent knows where to connect yet. A restarted edge is the last one.
      waitsForEdges: count > 1 && settings.agentListen.port !== 0 && ports === undefined,
      number: at + 1,
      addresses: addresses.data,
      peers: peerOptions(settings, at, count, room, sharedKeys()),
      gatewayPath: settings.sshListen && room?.gatewayPath(at),
    }),
  });
}

function captureOptions({ settings }: PlanesOptions): Pick<CaptureServiceOptions, "data" | "maxBytes"> {
  return { data: settings.data, maxBytes: settings.captureMaxBytes };
}

interface ToPlanes {
  readonly edges: readonly Pick<Supervised<EdgePorts>, "tell">[];
  readonly control: () => Pick<Supervised<ControlPlanePorts>, "tell">;
}

/** Collects the conditions of the server itself for the control plane, also for one that has restarted. */
function collectProblems({ control }: Pick<ToPlanes, "control">) {
  const problems = new Map<string, ServerProblem>();
  return {
    tell(problem: ServerProblem): void {
      if (problem.message === undefined && !problems.delete(problem.part)) return;
      if (problem.message !== undefined) problems.set(problem.part, problem);
      control().tell({ type: "serverProblem", problem });
    },
    controlPlaneReady(tell: Supervised<ControlPlanePorts>["tell"], data: AddressData | undefined): void {
      if (data) tell({ type: "addresses", data });
      for (const problem of problems.values()) tell({ type: "serverProblem", problem });
    },
  };
}

/** Opens the locations and categories of addresses, and gives them to the planes. */
function openAddresses(
  { settings, clock, log }: PlanesOptions,
  { edges, control }: ToPlanes,
  problem: (problem: ServerProblem) => void,
): AddressService {
  return new AddressService({
    settings,
    data: settings.data,
    clock,
    log,
    changed: (data) => {
      for (const plane of [...edges, control()]) plane.tell({ type: "addresses", data });
    },
    problem,
  });
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
): Omit<EdgeThreadOptions, "peers" | "number" | "gatewayPath" | "addresses" | "waitsForEdges"> {
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
