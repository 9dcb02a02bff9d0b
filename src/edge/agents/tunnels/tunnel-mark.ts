import { agentMark } from "../../../traffic/mcp-session.ts";
import type { AgentSession } from "../../../tunnel/server-hooks.ts";

/** The properties of a session that name its agent. */
type AgentOf = Pick<AgentSession, "id" | "agentId">;

const marks = new WeakMap<AgentOf, string>();

/** Returns the mark of the tunnel's agent. It is the same at every edge, and for all sessions of one agent. */
export function markOfTunnel({ session }: { readonly session: AgentOf }): string {
  let mark = marks.get(session);
  if (mark === undefined) marks.set(session, (mark = agentMark(session.agentId || session.id)));
  return mark;
}
