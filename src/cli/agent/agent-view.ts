/** What `postern http` shows: a live screen on a terminal, lines otherwise. */
import { styleText } from "node:util";
import type { AgentOptions, AgentStatus } from "../../agent/agent.ts";
import type { ServiceState } from "../../agent/service-watch.ts";
import type { Upstream } from "../../agent/upstream.ts";
import type { WatchedRequest } from "../../agent/request-watch.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { makeRequestLog } from "./request-log.ts";
import { printable } from "../terminal/request-line.ts";
import { openScreen } from "../terminal/screen.ts";
import { shownText } from "../terminal/text-width.ts";

export interface AgentView {
  /** Where the agent logs. */
  readonly log: Log;
  readonly status: (status: AgentStatus) => void;
  readonly request: (request: WatchedRequest) => void;
  readonly service: (state: ServiceState) => void;
  close(): void;
}

type Shown = Pick<AgentOptions, "publish" | "upstream" | "server">;

/** @param log gets what the agent says when stderr is not the terminal that the screen is on */
export function liveView(options: Shown, log: Log): AgentView {
  const screen = openScreen(process.stdout, systemClock);
  const server = `${options.server.host}:${options.server.port}`;
  let url: string | undefined;
  let state = styleText("yellow", "connecting");
  let notice: string | undefined;
  let unreachable: string | undefined;
  const show = (): void => {
    const rows: [string, string][] = [
      ["Status", state],
      ["Server", server],
      ["Forwarding", styleText("bold", forwardingLine(url, options))],
    ];
    if (unreachable !== undefined) rows.push(["Service", styleText("red", unreachable)]);
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
        url = status.url ?? url;
        state = `${styleText("green", "online")}, ${status.latencyMs < 1 ? "<1" : Math.round(status.latencyMs)} ms to the server`;
      } else if (status.state === "waiting") {
        const seconds = Math.ceil(status.pauseMs / 1000);
        state = `${styleText("yellow", "offline")}: ${printable(status.reason)}; next try in ${seconds} s`;
      } else if (url === undefined) {
        state = styleText("yellow", "connecting");
      }
      show();
    },
    request(request) {
      if (request.status !== 502) notice = undefined;
      screen.request({ ...request, at: Date.now() });
    },
    service(state) {
      unreachable = state.reachable ? undefined : printable(`cannot be reached: ${state.reason}`);
      // When stderr goes elsewhere, the log there says it as well.
      if (!process.stderr.isTTY) logService(log, options.upstream, state);
      show();
    },
    close: () => screen.close(),
  };
}

/** One line on stdout when it is online, as text or JSON; the rest is logged. */
export function plainView(options: Shown, log: Log, json: boolean): AgentView {
  const requests = makeRequestLog(log, systemClock);
  let announced: string | undefined;
  return {
    log,
    request: (request) => requests.add(request),
    service: (state) => logService(log, options.upstream, state),
    status(status) {
      if (status.state === "waiting") log.warn("disconnected", { reason: status.reason, retryMs: status.pauseMs });
      if (status.state !== "online") return;
      log.info("online", { ms: Math.round(status.latencyMs) });
      const line = json
        ? JSON.stringify({ url: status.url ?? null, to: options.upstream.text })
        : forwardingLine(status.url, options);
      if (line !== announced) process.stdout.write(`${line}\n`);
      announced = line;
    },
    close() {},
  };
}

/** Requests are answered 502 until it is back: the tunnel stays. */
export function logService(log: Log, { text }: Upstream, state: ServiceState): void {
  if (state.reachable) log.info("service reachable again", { upstream: text });
  else log.warn("service unreachable", { upstream: text, reason: state.reason });
}

function forwardingLine(url: string | undefined, { publish, upstream }: Shown): string {
  const labels =
    publish.kind === "labels" ? Object.entries(publish.labels).map(([name, value]) => `${name}=${value}`) : [];
  return shownText(`${url ?? (labels.join(",") || "…")} → ${upstream.text}`);
}
