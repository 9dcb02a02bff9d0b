/** Accepts the sessions of SSH clients, which the SSH thread of this server carries over a private socket. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { runUnattended, socketListener } from "../../lib/boundary.ts";
import type { AgentServer } from "../../tunnel/agent-server.ts";
import type { ListenerContext } from "./listener.ts";

/** Rejects if the path cannot be used. */
export async function startGatewayListener(
  path: string,
  {
    agents,
    listening,
  }: { readonly agents: AgentServer; readonly listening: Pick<ListenerContext, "ready" | "metrics"> },
): Promise<{ close(): void }> {
  const { ready, metrics } = listening;
  metrics.gauge("postern_ssh_sessions", "Open sessions of SSH clients.", () => countOf(agents));
  metrics.counterOf(
    "postern_ssh_logins_refused_total",
    "Logins of SSH clients that the edge refused: unknown keys, limits, a stop.",
    () => agents.localRefusals,
  );
  const server = createServer();
  const admit = async (socket: Socket): Promise<void> => {
    // Before the first configuration every key would be unknown.
    await ready;
    agents.acceptLocal(socket);
  };
  const accept = (socket: Socket): void => {
    socket.on("error", () => {});
    runUnattended("connection", admit(socket), () => socket.destroy());
  };
  server.on("connection", socketListener(accept));
  // An earlier run of this edge that has died leaves its socket.
  rmSync(path, { force: true });
  server.listen({ path });
  await once(server, "listening");
  return { close: () => void server.close() };
}

function countOf({ sessions }: AgentServer): number {
  let count = 0;
  for (const { isSsh } of sessions.values()) if (isSsh) count += 1;
  return count;
}
