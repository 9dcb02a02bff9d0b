/** Real MCP servers of the public SDK, for every transport over HTTP. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createServer } from "../../src/lib/http.ts";

/** Streamable HTTP with sessions, without them, with JSON responses, and the older transport. */
export const mcpKinds = ["stateful", "stateless", "json", "sse"] as const;
export type McpKind = (typeof mcpKinds)[number];

export interface RunningMcpServer {
  readonly port: number;
  /** Host fields of the requests. */
  readonly hosts: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** Its tools: `who` returns the server's name and its caller; `steps` reports progress; `fail` fails. */
function makeServer(name: string, who: string): McpServer {
  const server = new McpServer({ name, version: "1.0.0" });
  const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
  server.registerTool("who", { description: "Names the caller" }, () => text(`${name} ${who}`));
  server.registerTool("fail", { description: "Fails" }, () => {
    throw new Error("it failed");
  });
  server.registerTool("steps", { description: "Reports progress" }, async ({ _meta, sendNotification }) => {
    for (const progress of [1, 2, 3]) {
      await sendNotification({
        method: "notifications/progress",
        params: { progressToken: _meta?.progressToken ?? 0, progress, total: 3 },
      });
    }
    return text("done");
  });
  return server;
}

type Transport = Parameters<McpServer["connect"]>[0];

export async function startMcpServer(kind: McpKind, name: string = kind): Promise<RunningMcpServer> {
  const hosts = new Set<string>();
  const streamable = new Map<string, StreamableHTTPServerTransport>();
  const older = new Map<string, SSEServerTransport>();
  const whoOf = ({ headers }: IncomingMessage): string => String(headers["ngrok-auth-user-email"]);
  const connect = async (transport: object, request: IncomingMessage): Promise<void> =>
    await makeServer(name, whoOf(request)).connect(transport as Transport);

  const answerStreamable = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? streamable.get(id) : undefined;
    if (known) return await known.handleRequest(request, response);
    if (typeof id === "string") return void response.writeHead(404).end();
    if (kind !== "stateful" && request.method !== "POST") return void response.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport({
      ...(kind === "json" && { enableJsonResponse: true }),
      ...(kind === "stateful" && {
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session: string) => void streamable.set(session, transport),
      }),
    });
    await connect(transport, request);
    await transport.handleRequest(request, response);
  };
  const answerOlder = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "", "http://localhost");
    if (url.pathname === "/messages") {
      await older.get(url.searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
      return;
    }
    if (request.method !== "GET") return void response.writeHead(405).end();
    const transport = new SSEServerTransport("/messages", response);
    older.set(transport.sessionId, transport);
    await connect(transport, request);
  };
  const path = kind === "sse" ? ["/sse", "/messages"] : ["/mcp"];
  const server = createServer((request, response) => {
    hosts.add(request.headers.host ?? "");
    if (!path.includes((request.url ?? "").split("?")[0] ?? "")) return void response.writeHead(404).end();
    (kind === "sse" ? answerOlder : answerStreamable)(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hosts,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
