/** Ends the connections of an HTTP/1.1 server without cutting the requests on them. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "./clock.ts";

export interface HttpDrain {
  /** From now on, each response closes its connection and says so. The server still accepts connections. */
  begin(): void;
  /**
   * Begins, stops accepting connections and closes the idle ones. Resolves when the requests in flight have their
   * responses, at the latest after `boundMs`.
   */
  end(boundMs: number): Promise<void>;
}

/** How long `end` waits for the first request on a connection, milliseconds: it may be on its way. */
const firstRequestMs = 1_000;

/** Call it when the server has its handlers, before it listens. */
export function drainOf(server: Server, clock: Pick<Clock, "after">): HttpDrain {
  const inFlight = new Set<ServerResponse>();
  /** Connections without a request so far. Node does not count them as idle. */
  const unused = new Set<Socket>();
  let draining = false;
  let ending = false;

  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  const began = (request: IncomingMessage, response: ServerResponse): void => {
    unused.delete(request.socket);
    response.shouldKeepAlive &&= !draining;
    inFlight.add(response);
    response.once("close", () => {
      inFlight.delete(response);
      // Its headers may have promised a connection that stays open.
      if (ending) setImmediate(() => server.closeIdleConnections());
    });
  };
  // A listener for "checkContinue" turns off what Node does without one.
  for (const event of ["request", "checkContinue", "checkExpectation"]) {
    if (server.listenerCount(event) > 0) server.prependListener(event, began);
  }

  const begin = (): void => {
    draining = true;
    for (const response of inFlight) if (!response.headersSent) response.shouldKeepAlive = false;
  };
  return {
    begin,
    end: (boundMs) =>
      new Promise((resolve) => {
        begin();
        ending = true;
        const unusedEnd = clock.after(Math.min(firstRequestMs, boundMs), () => {
          for (const socket of unused) socket.destroy();
        });
        const bound = clock.after(boundMs, () => server.closeAllConnections());
        server.close(() => {
          unusedEnd.cancel();
          bound.cancel();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
