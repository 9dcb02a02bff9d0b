/** The inspector beside an agent: nothing of it is loaded where it is off. */
import type { AgentStatus } from "../../agent/agent.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import { systemClock } from "../../lib/clock.ts";
import type { InspectorAddress } from "../../settings/kinds/agents.ts";
import { Failure } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";

/** Where it listens unless told otherwise: the first of these ports that is free. */
const usual = { host: "127.0.0.1", ports: Array.from({ length: 100 }, (_, at) => 4040 + at) };

export interface Inspection {
  /** The tunnel as the agent is to have it. */
  watch(tunnel: TunnelOptions): TunnelOptions;
  status(status: AgentStatus): void;
  /** Listens, and resolves with the URL. Throws `Failure` (usage) where it cannot. */
  open(): Promise<string>;
  close(): Promise<void>;
}

/** @param given where it listens; undefined: at the usual place */
export async function makeInspection(given: InspectorAddress | undefined): Promise<Inspection | undefined> {
  if (given === "off") return undefined;
  const { Inspector } = await import("../../inspector/inspector.ts");
  const inspector = new Inspector(systemClock);
  // Who runs an agent without looking, as a service, has no use for what it would keep, unless it is asked for.
  const isUnseen = given === undefined && !process.stdout.isTTY;
  let shown: object = { status: "connecting", agent_version: posternVersion(), session: { legs: [] } };
  let api: { readonly url: string; close(): Promise<void> } | undefined;
  return {
    watch: (tunnel) => inspector.watch(tunnel, !isUnseen && tunnel.inspect !== false),
    status(status) {
      const latencies = status.state === "online" ? [{ latency: Math.round(status.latencyMs * 1_000_000) }] : [];
      const state = status.state === "waiting" ? "reconnecting" : status.state;
      shown = { status: state, agent_version: posternVersion(), session: { legs: latencies } };
    },
    async open() {
      const { startLocalApi } = await import("../../inspector/local-api.ts");
      const place = given ? { host: given.host, ports: [given.port] } : usual;
      try {
        api = await startLocalApi({ inspector, ...place, status: () => shown });
      } catch (error) {
        throw new Failure("usage", `the inspector cannot listen: ${(error as Error).message}`, { cause: error });
      }
      return api.url;
    },
    close: async () => await api?.close(),
  };
}
