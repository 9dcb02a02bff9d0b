/** Commands and links that add a published MCP server to common clients. */
import type { McpPlace } from "../../agent/mcp-place.ts";
import { initialize } from "../../agent/mcp/find-mcp.ts";

export interface McpClient {
  readonly client: string;
  /** A command for a shell, or a link. */
  readonly add: string;
}

/** Returns the server's URL for clients. */
export function mcpUrl(publicUrl: string, { path }: Pick<McpPlace, "path">): string {
  return new URL(path, publicUrl).href;
}

export function mcpClients(publicUrl: string, { path, transport }: McpPlace): readonly McpClient[] {
  const url = mcpUrl(publicUrl, { path });
  const [name = "mcp"] = new URL(url).hostname.split(".", 1);
  const server = JSON.stringify({ name, type: transport, url });
  const config = Buffer.from(JSON.stringify({ url })).toString("base64");
  // The vendor's servers connect to connectors, so they reach public names only.
  const desktop = { client: "Claude Desktop", add: `Settings, Connectors, Add custom connector: ${url}` };
  return [
    { client: "Claude Code", add: `claude mcp add --transport ${transport} ${name} ${quoteForShell(url)}` },
    ...(isLocal(url) ? [] : [desktop]),
    { client: "VS Code", add: `code --add-mcp ${quoteForShell(server)}` },
    {
      client: "Cursor",
      add: `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${encodeURIComponent(config)}`,
    },
    { client: "mcp-remote", add: `npx mcp-remote ${quoteForShell(url)}` },
    { client: "curl", add: transport === "sse" ? `curl -N ${quoteForShell(url)}` : renderCurl(url) },
  ];
}

/** Whether only this machine reaches the URL, whose certificate is then the server's own. */
export function isLocal(url: string): boolean {
  return /(^|\.)localhost$/.test(new URL(url).hostname);
}

function renderCurl(url: string): string {
  const fields = ["content-type: application/json", "accept: application/json, text/event-stream"];
  const headers = fields.map((field) => `-H ${quoteForShell(field)}`).join(" ");
  return `curl ${headers} -d ${quoteForShell(JSON.stringify(initialize))} ${quoteForShell(url)}`;
}

/** For a POSIX shell. */
function quoteForShell(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
