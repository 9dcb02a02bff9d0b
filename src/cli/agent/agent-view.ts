/** Output of the publishing commands: a live screen on a terminal, lines otherwise. */
import type { AgentStatus } from "../../agent/agent-options.ts";
import type { ServiceState } from "../../agent/service-watch.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import type { Upstream } from "../../agent/upstream.ts";
import type { Log } from "../../lib/log.ts";
import { renderQr } from "../qr/render-qr.ts";
import { isLocal, mcpClients, mcpUrl } from "./mcp-clients.ts";
import { isPublicUrl } from "./sharing.ts";
import type { SharedAccess } from "./sharing.ts";
import { shownText } from "../terminal/text-width.ts";

export type Watched = Required<Pick<TunnelOptions, "status" | "request" | "service">>;
export type ViewedTunnel = Pick<TunnelOptions, "name" | "publish" | "upstream" | "mcp">;

export interface AgentView {
  /** The agent's log. */
  readonly log: Log;
  readonly status: (status: AgentStatus) => void;
  /** Shows this tunnel from now on. */
  watch(tunnel: ViewedTunnel): Watched;
  /** Shows how many webhooks wait at the server, and whether the user holds them. */
  inbox(waiting: number, isHeld: boolean): void;
  /** Calls `deliver` when the user asks for the held webhooks. */
  onDeliver(deliver: () => void): void;
  /** Shows the inspector's URL, or why it is off. */
  inspector(url: string): void;
  close(): void;
}

/** Logs whether the service is reachable. The tunnel remains, and requests get 502 in the meantime. */
export function logService(log: Log, { text }: Upstream, state: ServiceState): void {
  if (state.reachable) log.info("service reachable again", { upstream: text });
  else log.warn("service unreachable", { upstream: text, reason: state.reason });
}

/** Terminals may be light; these colours draw the code light on dark in each of them. */
export const qrColours = ["whiteBright", "bgBlack"] as const;

/** Returns the visitors' login, and the URL as a QR code for other devices. */
export function renderSharedLines(
  url: string | undefined,
  { visitor, qr }: SharedAccess,
  paint: (line: string) => string,
): readonly string[] {
  const login = visitor && `Visitors log in as ${visitor.user} with the password ${visitor.password}`;
  return [...(login === undefined ? [] : [login]), ...(qr && url !== undefined ? qrLines(url, paint) : [])];
}

function qrLines(url: string, paint: (line: string) => string): readonly string[] {
  if (!isPublicUrl(url)) return ["No QR code: the URL works only on this machine"];
  const lines = renderQr(url);
  if (lines.length === 0) return ["No QR code: the URL is too long"];
  return lines.map(paint);
}

/** Returns how clients add the MCP server of a tunnel. Empty for other tunnels. */
export function mcpLines(url: string | undefined, { mcp }: ViewedTunnel): readonly string[] {
  if (url === undefined || mcp?.path === undefined || mcp.transport === undefined) return [];
  const place = { path: mcp.path, transport: mcp.transport };
  const clients = mcpClients(url, place).map(({ client, add }) => `  ${`${client}:`.padEnd(16)}${add}`);
  const trust = "Clients that run on Node trust the certificate if NODE_EXTRA_CA_CERTS names the server's ca.pem.";
  const lines = [
    `MCP server at ${mcpUrl(url, place)}. Add it to a client:`,
    ...clients,
    ...(isLocal(url) ? [trust] : []),
  ];
  return lines.map(shownText);
}

/** Returns the public URL and its service. */
export function forwardingLine(url: string | undefined, { publish, upstream }: ViewedTunnel): string {
  const labels =
    publish.kind === "labels" ? Object.entries(publish.labels).map(([name, value]) => `${name}=${value}`) : [];
  return shownText(`${url ?? (labels.join(",") || "…")} → ${upstream.text}`);
}
