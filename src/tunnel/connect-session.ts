/** The agent's side of the protocol: one session over one open connection. */
import type { Socket } from "node:net";
import { ClientConnection } from "./client-connection.ts";
import type { ClientHandlers, ClientOptions, ClientSession } from "./client-hooks.ts";

/**
 * Authenticates over a connected socket and owns it from then on. Rejects with `Refusal` if the server sends a reason.
 */
export function connectSession(
  socket: Socket,
  options: ClientOptions,
  handlers: ClientHandlers,
): Promise<ClientSession> {
  return new Promise((resolve, reject) => {
    const connection = new ClientConnection(socket, options, handlers, reject);
    connection.authenticate((error, session) => (session ? resolve(session) : reject(error)));
  });
}
