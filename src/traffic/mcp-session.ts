/**
 * Ids of MCP sessions. A visitor's id begins with the mark of the agent whose server began the session, so that every
 * edge finds that agent without a table. The server itself sees its own id.
 */
import { hash } from "node:crypto";
import type { HeaderFields } from "./header-fields.ts";

/** MCP 2025-11-25, "Session Management". */
export const mcpSessionField = "mcp-session-id";

const markLength = 12;
const marked = new RegExp(`^([\\w-]{${markLength}})\\.(.+)$`);

/** The agents of one exchange with an MCP server. */
export interface McpSession {
  /** Mark of the agent that began the session; "" if no agent has; undefined for a request without a session. */
  readonly wanted: string | undefined;
  /** Mark of the agent that serves the request, once it is known. */
  served: string | undefined;
}

/** @param agent an id that only the server and the agent know */
export function agentMark(agent: string): string {
  return hash("sha256", `mcp ${agent}`, "base64url").slice(0, markLength);
}

export function markedId(mark: string, id: string): string {
  return `${mark}.${id}`;
}

/** Returns undefined for a request without a session. Its mark is "" if the id was not given out by an edge. */
export function sessionIn(headers: HeaderFields): { readonly mark: string; readonly id: string } | undefined {
  const given = headers.getAll(mcpSessionField);
  if (given.length === 0) return undefined;
  const [, mark = "", id = ""] = (given.length === 1 && marked.exec(given[0] as string)) || [];
  return { mark, id };
}
