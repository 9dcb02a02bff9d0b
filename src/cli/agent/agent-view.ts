/** What the commands that publish show: a live screen on a terminal, lines otherwise. */
import { styleText } from "node:util";
import type { AgentOptions, AgentStatus } from "../../agent/agent.ts";
import type { ServiceState } from "../../agent/service-watch.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { systemClock, timestamp } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { makeRequestLog } from "./request-log.ts";
import { printable } from "../terminal/request-line.ts";
import { openScreen } from "../terminal/screen.ts";
import { shownText } from "../terminal/text-width.ts";

type Watched = Required<Pick<TunnelOptions, "status" | "request" | "service">>;
type Shown = Pick<TunnelOptions, "name" | "publish" | "upstream">;

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

/** @param log gets what the agent says when stderr is not the terminal that the screen is on */
export function liveView({ server: { host, port } }: Pick<AgentOptions, "server">, log: Log): AgentView {
  const screen = openScreen(process.stdout, systemClock);
  const tunnels: { line: string; trouble: string | undefined }[] = [];
  let state = styleText("yellow", "connecting");
  let notice: string | undefined;
  let wasOnline = false;
  let inspector: string | undefined;
  const show = (): void => {
    const rows: [string, string][] = [
      ["Status", state],
      ["Server", `${host}:${port}`],
    ];
    for (const { line, trouble } of tunnels) {
      rows.push(["Forwarding", styleText("bold", line)]);
      if (trouble !== undefined) rows.push(["Service", styleText("red", trouble)]);
    }
    if (inspector !== undefined) rows.push(["Inspector", inspector]);
    if (notice !== undefined) rows.push(["Warning", styleText("yellow", notice)]);
    screen.show({ title: "Postern (Ctrl+C ends it)", rows });
  };
  const onScreen: Log = {
    ...silentLog,
    warn(event, fields) {
      notice = printable(
        `${event}: ${Object.values(fields ?? {})
          .map(String)
          .join(", ")}`,
      );
      show();
    },
    with: () => onScreen,
  };
  return {
    log: process.stderr.isTTY ? onScreen : log,
    status(status) {
      if (status.state === "online") {
        wasOnline = true;
        state = `${styleText("green", "online")}, ${status.latencyMs < 1 ? "<1" : Math.round(status.latencyMs)} ms to the server`;
      } else if (status.state === "waiting") {
        const seconds = Math.ceil(status.pauseMs / 1000);
        state = `${styleText("yellow", "offline")} since ${timeOfDay(status.since)}: ${printable(status.reason)}; next try in ${seconds} s`;
      } else if (!wasOnline) {
        state = styleText("yellow", "connecting");
      }
      show();
    },
    watch(tunnel) {
      const shown = { line: forwardingLine(undefined, tunnel), trouble: undefined as string | undefined };
      tunnels.push(shown);
      return {
        status(status) {
          if (status.state === "online") shown.line = forwardingLine(status.url, tunnel);
          else if (status.state === "waiting") shown.line = `${tunnel.name}: ${printable(status.reason)}`;
          else if (status.state === "removed") tunnels.splice(tunnels.indexOf(shown), 1);
          else shown.line = `${tunnel.name} has ended: ${printable(status.end.message)}`;
          show();
        },
        request(request) {
          if (request.status !== 502) notice = undefined;
          screen.request({ ...request, at: Date.now() });
        },
        service(state) {
          shown.trouble = state.reachable ? undefined : printable(`cannot be reached: ${state.reason}`);
          // When stderr goes elsewhere, the log there says it as well.
          if (!process.stderr.isTTY) logService(log, tunnel.upstream, state);
          show();
        },
      };
    },
    inspector(url) {
      inspector = url;
      show();
    },
    close: () => screen.close(),
  };
}

/** How what is online is told on stdout: as text, as JSON, or as JSON with the tunnel's name. */
export type PlainForm = "text" | "json" | "named json";

/** One line on stdout for each tunnel when it is online; the rest is logged. */
export function plainView(log: Log, form: PlainForm): AgentView {
  const requests = makeRequestLog(log, systemClock);
  return {
    log,
    status(status) {
      if (status.state === "waiting") {
        const { reason, pauseMs: retryMs, since } = status;
        log.warn("disconnected", { reason, retryMs, since: timestamp(since) });
      } else if (status.state === "online") log.info("online", { ms: Math.round(status.latencyMs) });
    },
    watch(tunnel) {
      let announced: string | undefined;
      return {
        request: (request) => requests.add(request),
        service: (state) => logService(log, tunnel.upstream, state),
        status(status) {
          if (status.state === "online") {
            const line = onlineLine(form, status.url, tunnel);
            if (line !== announced) process.stdout.write(`${line}\n`);
            announced = line;
          } else if (status.state === "waiting") {
            log.warn("tunnel not open", { tunnel: tunnel.name, reason: status.reason, retryMs: status.pauseMs });
          } else if (status.state === "removed") log.info("tunnel removed", { tunnel: tunnel.name });
          else log.error("tunnel ended", { tunnel: tunnel.name, reason: status.end.message });
        },
      };
    },
    inspector: (url) => log.info("inspector", { url }),
    close() {},
  };
}

/** Requests are answered 502 until it is back: the tunnel stays. */
export function logService(log: Log, { text }: Upstream, state: ServiceState): void {
  if (state.reachable) log.info("service reachable again", { upstream: text });
  else log.warn("service unreachable", { upstream: text, reason: state.reason });
}

function onlineLine(form: PlainForm, url: string | undefined, tunnel: Shown): string {
  if (form === "text") return forwardingLine(url, tunnel);
  const facts = { url: url ?? null, to: tunnel.upstream.text };
  return JSON.stringify(form === "json" ? facts : { name: tunnel.name, ...facts });
}

function forwardingLine(url: string | undefined, { publish, upstream }: Shown): string {
  const labels =
    publish.kind === "labels" ? Object.entries(publish.labels).map(([name, value]) => `${name}=${value}`) : [];
  return shownText(`${url ?? (labels.join(",") || "…")} → ${upstream.text}`);
}

/** As the clock on the wall has it. */
function timeOfDay(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}
