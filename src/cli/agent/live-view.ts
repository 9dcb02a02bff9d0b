/** Output of an agent on a terminal. */
import { styleText } from "node:util";
import type { ServerAddress } from "../../agent/connect.ts";
import type { Totals } from "../../inspector/inspector.ts";
import type { Measured } from "../../inspector/meter.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { takeKeys } from "../terminal/key-input.ts";
import { toPrintable, renderDuration } from "../terminal/request-line.ts";
import { openScreen } from "../terminal/screen.ts";
import type { ScreenOutput } from "../terminal/screen.ts";
import { writeDirectly } from "../terminal/guarded-output.ts";
import { forwardingLine, logService, mcpLines, qrColours, renderSharedLines } from "./agent-view.ts";
import type { AgentView } from "./agent-view.ts";
import type { SharedAccess } from "./sharing.ts";

/** @param log receives the agent's messages if stderr is not the screen's terminal */
export function makeLiveView({ host, port }: ServerAddress, totals: Totals, log: Log, shared: SharedAccess): AgentView {
  /** URL of the first tunnel. */
  let url: string | undefined;
  const tunnels: ShownTunnel[] = [];
  let state = styleText("yellow", "connecting");
  let notice: string | undefined;
  let wasOnline = false;
  let inspector: string | undefined;
  let stored: string | undefined;
  let deliver = (): void => {};
  const rows = (): [string, string][] => [
    ["Status", state],
    ["Server", `${host}:${port}`],
    ...tunnels.flatMap(rowsOf),
    ...(stored === undefined ? [] : [["Inbox", stored] as [string, string]]),
    ...(inspector === undefined ? [] : [["Inspector", inspector] as [string, string]]),
    ...(notice === undefined ? [] : [["Warning", styleText("yellow", notice)] as [string, string]]),
    ...formatTotals(totals),
    ...renderSharedRows(url, shared),
  ];
  // Only a screen that reads keys mentions the key to quit.
  let title = "Postern (press Ctrl+C to stop)";
  const screen = openScreen(screenOn(process.stdout), systemClock, () => ({ title, rows: rows() }));
  const giveBack = takeKeys(
    process.stdin,
    () => screen.redraw(),
    (key) => key === "d" && deliver(),
  );
  if (giveBack) title = "Postern (press q or Ctrl+C to stop)";
  const onScreen: Log = {
    ...silentLog,
    warn(event, fields) {
      notice = toPrintable(
        `${event}: ${Object.values(fields ?? {})
          .map(String)
          .join(", ")}`,
      );
      screen.changed();
    },
    with: () => onScreen,
  };
  return {
    log: process.stderr.isTTY ? onScreen : log,
    status(status) {
      if (status.state === "online") {
        wasOnline = true;
        state = `${styleText("green", "online")}, ${renderDuration(status.latencyMs)} to the server`;
      } else if (status.state === "waiting") {
        const seconds = Math.ceil(status.pauseMs / 1000);
        state = `${styleText("yellow", "offline")} since ${timeOfDay(status.since)}: ${toPrintable(status.reason)}; next attempt in ${seconds} s`;
      } else if (!wasOnline) {
        state = styleText("yellow", "connecting");
      }
      screen.changed();
    },
    watch(tunnel) {
      const shown: ShownTunnel = { line: forwardingLine(undefined, tunnel), trouble: undefined, mcp: [] };
      tunnels.push(shown);
      return {
        status(status) {
          if (status.state === "online") {
            shown.line = forwardingLine(status.url, tunnel);
            shown.mcp = mcpLines(status.url, tunnel);
            url ??= status.url;
          } else if (status.state === "waiting") shown.line = `${tunnel.name}: ${toPrintable(status.reason)}`;
          else if (status.state === "removed") tunnels.splice(tunnels.indexOf(shown), 1);
          else shown.line = `${tunnel.name} has ended: ${toPrintable(status.end.message)}`;
          screen.changed();
        },
        request(request) {
          if (request.status !== 502) notice = undefined;
          screen.request({ ...request, at: Date.now() });
        },
        service(reached) {
          shown.trouble = reached.reachable ? undefined : toPrintable(`not reachable: ${reached.reason}`);
          // If stderr is redirected, the log there contains the message as well.
          if (!process.stderr.isTTY) logService(log, tunnel.upstream, reached);
          screen.changed();
        },
      };
    },
    inbox(waiting, isHeld) {
      stored = `${waiting} waiting${isHeld ? styleText("yellow", ", held (press d to deliver)") : ""}`;
      screen.changed();
    },
    onDeliver: (wanted) => void (deliver = wanted),
    inspector(url) {
      inspector = url;
      screen.changed();
    },
    close() {
      screen.close();
      giveBack?.();
    },
  };
}

interface ShownTunnel {
  line: string;
  trouble: string | undefined;
  /** How clients add its MCP server. */
  mcp: readonly string[];
}

function rowsOf({ line, trouble, mcp }: ShownTunnel): [string, string][] {
  return [
    ["Forwarding", styleText("bold", line)],
    ...(trouble === undefined ? [] : [["Service", styleText("red", trouble)] as [string, string]]),
    ...mcp.map((one, at): [string, string] => [at === 0 ? "MCP" : "", one]),
  ];
}

/** The QR code is last, so that a low terminal still shows the other rows. */
function renderSharedRows(url: string | undefined, shared: SharedAccess): [string, string][] {
  return renderSharedLines(url, shared, (one) => styleText([...qrColours], one)).map((line, at) => [
    at === 0 && shared.visitor ? "Login" : "",
    line,
  ]);
}

/** Formats the connections, and the requests if there are any. */
function formatTotals({ connections, requests }: Totals): [string, string][] {
  const open = connections.read();
  const asked = requests.read();
  const rows: [string, string][] = [["Connections", `${open.gauge} now, ${paceOf(open)}`]];
  return asked.count === 0 ? rows : [...rows, ["Requests", paceOf(asked)]];
}

/** Formats count, rate and duration. */
function paceOf({ count, rates: [lastMinute = 0, lastFive = 0], percentile }: Measured): string {
  const pace = `${count} total, ${lastMinute.toFixed(1)}/s (5 min: ${lastFive.toFixed(1)}/s)`;
  const [half, most] = [0.5, 0.9].map((share) => renderDuration(percentile(share)));
  return count === 0 ? `${count} total` : `${pace}, p50 ${half}, p90 ${most}`;
}

/** Formats the local time of day. */
function timeOfDay(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function screenOn(stream: NodeJS.WriteStream): ScreenOutput {
  return {
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
    on: stream.on.bind(stream),
    off: stream.off.bind(stream),
    write: (text) => writeDirectly(stream, text),
  };
}
