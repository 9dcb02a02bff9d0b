import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { styleFor } from "../terminal/guarded-output.ts";
import { forwardingLine, logService, mcpLines, qrColours, renderSharedLines } from "./agent-view.ts";
import type { AgentView, ViewedTunnel } from "./agent-view.ts";
import { mcpClients, mcpUrl } from "./mcp-clients.ts";
import type { SharedAccess } from "./sharing.ts";
import { makeRequestLog } from "./request-log.ts";

/** Form of messages about online tunnels on stdout: text, JSON, or JSON with the tunnel's name. */
export type PlainForm = "text" | "json" | "named json";

/** Prints one line on stdout for each tunnel that is online. All other messages are logged. */
export function makePlainView(log: Log, form: PlainForm, shared: SharedAccess): AgentView {
  const requests = makeRequestLog(log);
  let waited: number | undefined;
  return {
    inbox(waiting, isHeld) {
      if (waiting !== waited && (waiting > 0 || waited !== undefined)) log.info("inbox", { waiting, held: isHeld });
      waited = waiting;
    },
    onDeliver() {},
    log,
    status(status) {
      if (status.state === "waiting") {
        const { reason, pauseMs: retryMs, since } = status;
        log.warn("disconnected", { reason, retryMs, since: formatTimestamp(since) });
      } else if (status.state === "online") log.info("online", { ms: Math.round(status.latencyMs) });
    },
    watch(tunnel) {
      let announced: string | undefined;
      return {
        request: (request) => requests.add(request),
        service: (state) => logService(log, tunnel.upstream, state),
        status(status) {
          if (status.state === "online") {
            const line = onlineLine(form, status.url, tunnel, shared);
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

function mcpFacts(url: string | undefined, { mcp }: ViewedTunnel): object {
  if (url === undefined || mcp?.path === undefined || mcp.transport === undefined) return {};
  const place = { path: mcp.path, transport: mcp.transport };
  return { mcp: { url: mcpUrl(url, place), transport: mcp.transport, clients: mcpClients(url, place) } };
}

function onlineLine(form: PlainForm, url: string | undefined, tunnel: ViewedTunnel, shared: SharedAccess): string {
  if (form === "text")
    return [
      forwardingLine(url, tunnel),
      ...mcpLines(url, tunnel),
      ...renderSharedLines(url, shared, (one) => styleFor([...qrColours], one, process.stdout)),
    ].join("\n");
  const facts = { url: url ?? null, to: tunnel.upstream.text, ...shared.visitor, ...mcpFacts(url, tunnel) };
  return JSON.stringify(form === "json" ? facts : { name: tunnel.name, ...facts });
}
