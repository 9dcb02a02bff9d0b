/** A relay to a service whose bytes the test reads, as an agent reads a tunnel's connections. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { StreamWatch } from "../../src/agent/stream-watch.ts";

export interface Followed {
  readonly port: number;
  stop(): Promise<void>;
}

/** @param opened returns the reader of each connection */
export async function startFollowed(servicePort: number, opened: () => StreamWatch): Promise<Followed> {
  const sockets = new Set<Socket>();
  const server = createServer((visitor) => {
    const service = connect(servicePort, "127.0.0.1");
    const watch = opened();
    visitor.on("data", (bytes: Buffer) => {
      watch.fromServer(bytes);
      service.write(bytes);
    });
    service.on("data", (bytes: Buffer) => {
      watch.fromService(bytes);
      visitor.write(bytes);
    });
    for (const [one, other] of [
      [visitor, service],
      [service, visitor],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("end", () => other.end());
      one.on("close", () => {
        other.destroy();
        watch.ended();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
