/** Listens for SSH clients, and bounds how many may be there. */
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { normaliseAddress } from "../../lib/address.ts";
import { socketListener } from "../../lib/boundary.ts";
import { AddressBook } from "../../tunnel/source-counts.ts";
import { defaultTunnelLimits } from "../../tunnel/tunnel-limits.ts";
import { SshConnection } from "./ssh-connection.ts";
import type { SshHost } from "./ssh-connection.ts";

export interface SshServerOptions extends SshHost {
  readonly listen: { readonly host: string | undefined; readonly port: number };
  /** Maximum number of connections. */
  readonly maxConnections: number;
  /** Maximum number of connections from one address. */
  readonly maxPerAddress: number;
}

export interface SshServer {
  readonly port: number;
  /** Accepts no more connections, so that clients which connect again reach another server, and tells the users. */
  retire(): void;
  /** Ends every connection. */
  stop(why: string): void;
}

/** Maximum number of connections without a login, in total and per address, and of wrong keys per address and minute. */
const unauthenticated = { maxUnauthenticated: 256, maxUnauthenticatedPerAddress: 16, maxWrongTokens: 30 };

/** Rejects if the address is not available. */
export async function startSshServer(options: SshServerOptions): Promise<SshServer> {
  const { clock, log, maxConnections, maxPerAddress, listen } = options;
  const book = new AddressBook(clock, { ...defaultTunnelLimits, ...unauthenticated });
  const connections = new Set<SshConnection>();
  const perAddress = new Map<string, number>();
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const accept = (socket: Socket): void => {
    socket.on("error", () => {});
    const ip = normaliseAddress(socket.remoteAddress ?? "") ?? "";
    const count = perAddress.get(ip) ?? 0;
    if (!book.admits(ip) || connections.size >= maxConnections || count >= maxPerAddress) {
      log.debug("ssh connection rejected: too many", { ip });
      socket.destroy();
      return;
    }
    book.connected(ip);
    perAddress.set(ip, count + 1);
    const connection = new SshConnection(socket, ip, options, {
      settled: () => book.settled(ip),
      wrongKey: () => book.wrongToken(ip),
      closed() {
        connections.delete(connection);
        const left = (perAddress.get(ip) ?? 1) - 1;
        if (left > 0) perAddress.set(ip, left);
        else perAddress.delete(ip);
      },
    });
    connections.add(connection);
  };
  server.on("connection", socketListener(accept));
  const port = await startListening(server, listen);
  server.on("error", (error) => log.warn("ssh connections cannot be accepted", { error }));
  return {
    port,
    retire() {
      server.close();
      for (const connection of connections) connection.retire();
    },
    stop(why) {
      server.close();
      for (const connection of connections) connection.end(why);
    },
  };
}

function startListening(server: Server, { host, port }: SshServerOptions["listen"]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen({ port, ...(host !== undefined && { host }) }, () => resolve((server.address() as AddressInfo).port));
  return promise;
}
