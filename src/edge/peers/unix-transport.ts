/** Transport between the edges of one process: a private Unix socket and a shared secret. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { socketListener } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { provePeer } from "./prove-peer.ts";
import type { PeerTransport } from "./peer-transport.ts";

/** Settings to reach the other edges of the process. */
export interface UnixPlace {
  /** Path at which the others reach it. */
  readonly path: string;
  /** At least 32 bytes, known only to the edges. Both ends of a line prove that they know it. */
  readonly secret: Uint8Array;
}

export function unixTransport({ path, secret }: UnixPlace, clock: Clock, log: Log): PeerTransport {
  const server = createServer({ allowHalfOpen: true });
  return {
    kind: "unix",
    async listen(arrived) {
      const connected = (socket: Socket): void => {
        socket.on("error", ignoreError);
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
      socket.on("error", ignoreError);
      provePeer(socket, "dialler", secret, clock, (error) => done(error ? undefined : socket, error));
    },
    close() {
      if (server.listening) server.close();
    },
  };
}

function ignoreError(): void {
  // `close` follows and is handled.
}
