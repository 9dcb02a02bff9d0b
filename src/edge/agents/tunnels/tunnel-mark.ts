import { agentMark } from "../../../traffic/mcp-session.ts";
import type { AgentSession } from "../../../tunnel/server-hooks.ts";
import type { Tunnel } from "./tunnel.ts";

const marks = new WeakMap<AgentSession, string>();

/** Returns the mark of the tunnel's agent. It is the same at every edge, and for all sessions of one agent. */
export function markOfTunnel({ session }: Pick<Tunnel, "session">): string {
  let mark = marks.get(session);
  if (mark === undefined) marks.set(session, (mark = agentMark(session.agentId || session.id)));
  return mark;
}
