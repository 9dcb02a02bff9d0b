/** The agent's side of the protocol: one session over one connection that the caller dialled. */
import type { Socket } from "node:net";
import { ClientConnection } from "./client-connection.ts";
import type { ClientHandlers, ClientOptions, ClientSession } from "./client-hooks.ts";

/** Authenticates over a connected socket, which this takes over. Rejects with `Refusal` where a reason is given. */
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
