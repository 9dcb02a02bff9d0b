/** Accepts the sessions of SSH clients, which the SSH thread of this server carries over a private socket. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { letGo, socketListener } from "../../lib/boundary.ts";
import type { AgentServer } from "../../tunnel/server.ts";

/** Rejects if the path cannot be used. */
export async function startGatewayListener(
  path: string,
  { agents, listening }: { readonly agents: AgentServer; readonly listening: { readonly ready: Promise<void> } },
): Promise<{ close(): void }> {
  const server = createServer();
  const admit = async (socket: Socket): Promise<void> => {
    // Before the first configuration every key would be unknown.
    await listening.ready;
    agents.acceptLocal(socket);
  };
  const accept = (socket: Socket): void => {
    socket.on("error", () => {});
    letGo("connection", admit(socket), () => socket.destroy());
  };
  server.on("connection", socketListener(accept));
  // An earlier run of this edge that has died leaves its socket.
  rmSync(path, { force: true });
  server.listen({ path });
  await once(server, "listening");
  return { close: () => void server.close() };
}
