/** The inspector beside an agent: nothing of it is loaded where it is off. */
import type { AgentStatus } from "../../agent/agent.ts";
import type { ExchangeKeeper } from "../../agent/exchange-keeper.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Totals } from "../../inspector/inspector.ts";
import type { AgentControl } from "../../inspector/agent-control.ts";
import type { InspectorAddress } from "../../settings/kinds/agents.ts";
import { Failure } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";

/** Where it listens unless told otherwise: the first of these ports that is free. */
const usual = { host: "127.0.0.1", ports: Array.from({ length: 100 }, (_, at) => 4040 + at) };

export interface Inspection {
  /** What passed in all. */
  readonly totals: Totals;
  /** The tunnel as the agent is to have it. */
  watch(tunnel: TunnelOptions): Promise<TunnelOptions>;
  status(status: AgentStatus): void;
  /** As `AgentOptions.exchanges`. */
  readonly exchanges: ExchangeKeeper;
  /** As `AgentOptions.requestTimes`. */
  requestTimes(lines: Buffer): void;
  /** Whether there is a tunnel of this name. */
  knows(name: string): boolean;
  /** Has the local API control the agent from now on. */
  control(control: AgentControl): void;
  /** Listens, and resolves with the URL; undefined: it is off. Throws `Failure` (usage) where it cannot. */
  open(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface InspectionOptions {
  /** Where it listens; undefined: at the usual place. */
  readonly inspector: InspectorAddress | undefined;
  /** What a call may have as its Host, besides. */
  readonly inspectorHost: readonly string[];
  /** Most bytes that are kept; 0: the usual number, -1: none. */
  readonly inspectDbSize: number;
}

/**
 * @param isCounted whether what passes is counted, even where nothing is to listen
 */
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
  let api: { readonly url: string; close(): Promise<void> } | undefined;
  return {
    totals: inspector.totals,
    watch: (tunnel) => inspector.watch(tunnel, !isUnseen && tunnel.inspect !== false),
    status(status) {
      const latencies = status.state === "online" ? [{ region: "", latency: `${Math.round(status.latencyMs)}ms` }] : [];
      const state = status.state === "waiting" ? "reconnecting" : status.state;
      shown = { status: state, agent_version: posternVersion(), session: { legs: latencies } };
    },
    exchanges: {
      // Loaded when somebody asks: most agents are never asked.
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
      const { allowedHosts } = await import("../../inspector/allowed-hosts.ts");
      const isAllowed = allowedHosts(inspectorHost);
      const where = place ? { host: place.host, ports: [place.port] } : usual;
      try {
        api = await startLocalApi({ inspector, ...where, isAllowed, status: () => shown, control: () => control });
      } catch (error) {
        throw new Failure("usage", `the inspector cannot listen: ${(error as Error).message}`, { cause: error });
      }
      return api.url;
    },
    close: async () => await api?.close(),
  };
}
