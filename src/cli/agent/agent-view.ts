/** What the commands that publish show: a live screen on a terminal, lines otherwise. */
import type { AgentStatus } from "../../agent/agent.ts";
import type { ServiceState } from "../../agent/service-watch.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import type { Upstream } from "../../agent/upstream.ts";
import type { Log } from "../../lib/log.ts";
import { shownText } from "../terminal/text-width.ts";

export type Watched = Required<Pick<TunnelOptions, "status" | "request" | "service">>;
export type Shown = Pick<TunnelOptions, "name" | "publish" | "upstream">;

export interface AgentView {
  /** Where the agent logs. */
  readonly log: Log;
  readonly status: (status: AgentStatus) => void;
  /** Shows one tunnel from now on. */
  watch(tunnel: Shown): Watched;
  /** Where the inspector listens, or why it does not. */
  inspector(url: string): void;
  close(): void;
}

/** Requests are answered 502 until it is back: the tunnel stays. */
export function logService(log: Log, { text }: Upstream, state: ServiceState): void {
  if (state.reachable) log.info("service reachable again", { upstream: text });
  else log.warn("service unreachable", { upstream: text, reason: state.reason });
}

/** Where it is published, and to which service. */
export function forwardingLine(url: string | undefined, { publish, upstream }: Shown): string {
  const labels =
    publish.kind === "labels" ? Object.entries(publish.labels).map(([name, value]) => `${name}=${value}`) : [];
  return shownText(`${url ?? (labels.join(",") || "…")} → ${upstream.text}`);
}
