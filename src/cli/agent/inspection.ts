/** Runs the inspector beside an agent. Its code is not loaded if the inspector is off. */
import type { AgentStatus } from "../../agent/agent-options.ts";
import type { ExchangeKeeper } from "../../agent/exchange-keeper.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Totals } from "../../inspector/inspector.ts";
import type { AgentControl } from "../../inspector/agent-control.ts";
import type { LocalApi } from "../../inspector/local-api.ts";
import type { InspectorAddress } from "../../settings/kinds/agents.ts";
import { Failure } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";

/** Default address: the first free one of these ports. */
const usual = { host: "127.0.0.1", ports: Array.from({ length: 100 }, (_, at) => 4040 + at) };

export interface Inspection {
  /** Totals of the agent's traffic. */
  readonly totals: Totals;
  /** Returns the tunnel's options for the agent. */
  watch(tunnel: TunnelOptions): Promise<TunnelOptions>;
  status(status: AgentStatus): void;
  /** As `AgentOptions.exchanges`. */
  readonly exchanges: ExchangeKeeper;
  /** As `AgentOptions.requestTimes`. */
  requestTimes(lines: Buffer): void;
  /** Whether a tunnel with this name exists. */
  knows(name: string): boolean;
  /** Connects the local API to the agent. */
  control(control: AgentControl): void;
  /**
   * Listens and resolves with the URL, or undefined if the inspector is off. Throws `Failure` (usage) if it cannot
   * listen.
   */
  open(): Promise<string | undefined>;
  /** As `LocalApi.drain`. */
  drain(): void;
  close(): Promise<void>;
}

export interface InspectionOptions {
  /** Address to listen on; undefined: the default address. */
  readonly inspector: InspectorAddress | undefined;
  /** Additional allowed values of the Host field. */
  readonly inspectorHost: readonly string[];
  /** Maximum number of captured bytes; 0: the default, -1: no capture. */
  readonly inspectDbSize: number;
}

/** @param isCounted whether traffic is counted even without a listener */
export async function makeInspection(
  { inspector: place, inspectorHost, inspectDbSize }: InspectionOptions,
  isCounted: boolean,
): Promise<Inspection | undefined> {
  const isOff = place === "off";
  if (isOff && !isCounted) return undefined;
  const { Inspector } = await import("../../inspector/inspector.ts");
  const inspector = new Inspector(systemClock, inspectDbSize > 0 ? inspectDbSize : undefined);
  const isUnseen = isOff || inspectDbSize < 0;
  let shown: object = { status: "connecting", agent_version: posternVersion(), session: { legs: [] } };
  let control: AgentControl | undefined;
  let keeper: ExchangeKeeper | undefined;
  let api: LocalApi | undefined;
  return {
    totals: inspector.totals,
    watch: (tunnel) => inspector.watch(tunnel, !isUnseen && tunnel.inspect !== false),
    status(status) {
      const latencies = status.state === "online" ? [{ region: "", latency: `${Math.round(status.latencyMs)}ms` }] : [];
      const state = status.state === "waiting" ? "reconnecting" : status.state;
      shown = { status: state, agent_version: posternVersion(), session: { legs: latencies } };
    },
    exchanges: {
      // Loaded on the first request, because most agents never get one.
      async answer(command, tunnel) {
        const { keepExchanges } = await import("../../inspector/kept-exchanges.ts");
        keeper ??= keepExchanges(inspector);
        return await keeper.answer(command, tunnel);
      },
    },
    requestTimes: (lines) => inspector.times.told(lines),
    knows: (name) => inspector.tunnels.has(name),
    control: (given) => void (control = given),
    async open() {
      if (isOff) return undefined;
      const { startLocalApi } = await import("../../inspector/local-api.ts");
      const { compileAllowedHosts } = await import("../../inspector/allowed-hosts.ts");
      const isAllowed = compileAllowedHosts(inspectorHost);
      const where = place ? { host: place.host, ports: [place.port] } : usual;
      try {
        api = await startLocalApi({ inspector, ...where, isAllowed, status: () => shown, control: () => control });
      } catch (error) {
        throw new Failure("usage", `the inspector cannot listen: ${(error as Error).message}`, { cause: error });
      }
      return api.url;
    },
    drain: () => api?.drain(),
    close: async () => await api?.close(),
  };
}
