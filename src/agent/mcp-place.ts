/** How a service speaks MCP: Streamable HTTP, or the HTTP+SSE transport of the revision of 2024-11-05. */
export type McpTransport = "http" | "sse";

export interface McpPlace {
  /** Path of the MCP server. */
  readonly path: string;
  readonly transport: McpTransport;
}
