/** Between the edges of one process: a Unix socket that nobody else can reach, and a secret that nobody else has. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { socketListener } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { provePeer } from "./handshake.ts";
import type { PeerTransport } from "./transport.ts";

/** What an edge must know of those beside it. */
export interface UnixPlace {
  /** Where the others reach it. */
  readonly path: string;
  /** At least 32 bytes, which nobody but the edges has: both ends of a line prove to one another that they know it. */
  readonly secret: Uint8Array;
}

export function unixTransport({ path, secret }: UnixPlace, clock: Clock, log: Log): PeerTransport {
  const server = createServer({ allowHalfOpen: true });
  return {
    kind: "unix",
    async listen(arrived) {
      const connected = (socket: Socket): void => {
        socket.on("error", ignore);
        provePeer(socket, "acceptor", secret, clock, (error) => {
          if (error) log.warn("connection from another edge rejected", { error });
          else arrived(socket);
        });
      };
      server.on("connection", socketListener(connected));
      server.listen({ path });
      await once(server, "listening");
      return path;
    },
    dial(at, _edgeId, done) {
      const socket = connect({ path: at, allowHalfOpen: true });
      socket.on("error", ignore);
      provePeer(socket, "dialler", secret, clock, (error) => done(error ? undefined : socket, error));
    },
    close() {
      if (server.listening) server.close();
    },
  };
}

function ignore(): void {
  // `close` follows, and is what counts
}
