/** Services inside the agent: HTTP on the streams of a tunnel, without a port that other processes could reach. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Log } from "../lib/log.ts";
import { createServer } from "../lib/http.ts";

export interface LocalService {
  /** Takes one connection. */
  serve(connection: Duplex): void;
  /** Sets the log for what the service has started. Default: none. */
  logTo?(log: Log): void;
  /** Ends what the service has started. */
  close?(): Promise<void>;
}

export interface Answering {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes the connection of an upgrade request. Without it, an upgrade request is handled like any other. */
  readonly upgrade?: (request: IncomingMessage, connection: Duplex, head: Buffer) => void;
}

export function localService({ request, upgrade }: Answering): LocalService {
  // The edge has already enforced limits for heads, bodies and time.
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
