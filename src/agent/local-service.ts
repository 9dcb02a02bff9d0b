/** Services that the agent is itself: HTTP on the streams of a tunnel, without a port that others could reach. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createServer } from "../lib/http.ts";

export interface LocalService {
  /** Takes one connection. */
  serve(connection: Duplex): void;
}

export interface Answering {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes the connection of a request for another protocol; without it such a request is one like any other. */
  readonly upgrade?: (request: IncomingMessage, connection: Duplex, head: Buffer) => void;
}

export function localService({ request, upgrade }: Answering): LocalService {
  // The edge has limits of its own on heads, bodies and time, and has kept to them.
  const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: 131_072 });
  server.on("request", request);
  if (upgrade) server.on("upgrade", upgrade);
  server.on("clientError", (_error, connection) => connection.destroy());
  return {
    serve(connection) {
      connection.on("error", () => {});
      server.emit("connection", connection);
    },
  };
}
