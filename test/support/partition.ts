/**
 * Relays in front of a database and of the peer ports of nodes on this machine. They can cut one node off. Bytes wait
 * meanwhile, as in a network that loses packets, and arrive after the end of the cut.
 */
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo, NetConnectOpts, Server, Socket } from "node:net";

export type Part = "database" | "peers";

export interface Partition {
  /**
   * Forwards connections of one node to the database.
   * @returns the port on 127.0.0.1
   */
  databaseFor(node: string, database: NetConnectOpts): Promise<number>;
  /** Forwards connections of the other nodes to the peer port of one. */
  peersOf(node: string, at: NetConnectOpts & { readonly port: number }, host: string): Promise<void>;
  cut(node: string, part: Part): void;
  heal(node: string, part: Part): void;
  stop(): void;
}

interface Line {
  readonly part: Part;
  /** Returns the nodes at the ends of the line. */
  readonly ends: () => readonly string[];
  readonly sockets: readonly [Socket, Socket];
}

/** @param pidOf returns the process of a node; undefined if it does not run */
export function makePartition(nodes: readonly string[], pidOf: (node: string) => number | undefined): Partition {
  const lines = new Set<Line>();
  const servers: Server[] = [];
  const cuts = new Set<string>();
  const isCut = ({ part, ends }: Line): boolean => cuts.size > 0 && ends().some((node) => cuts.has(`${node} ${part}`));
  const apply = (line: Line): void => {
    for (const socket of line.sockets) {
      if (isCut(line)) socket.pause();
      else socket.resume();
    }
  };
  const forward = async (
    listen: { readonly host: string; readonly port: number },
    to: NetConnectOpts,
    part: Part,
    endsOf: (inner: Socket) => readonly string[],
  ): Promise<number> => {
    const server = createServer((inner) => {
      const outer = connect(to);
      let ends: readonly string[] | undefined;
      // A process may be known only after it has connected.
      const line: Line = { part, ends: () => (ends ??= endsOf(inner)), sockets: [inner, outer] };
      lines.add(line);
      for (const [from, into] of [line.sockets, line.sockets.toReversed()] as [Socket, Socket][]) {
        from.on("error", () => {});
        from.on("data", (bytes: Buffer) => {
          if (into.write(bytes)) return;
          from.pause();
          into.once("drain", () => apply(line));
        });
        from.on("close", () => {
          lines.delete(line);
          into.destroy();
        });
      }
      apply(line);
    }).listen(listen);
    servers.push(server);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const change = (): void => {
    for (const line of lines) apply(line);
  };
  return {
    databaseFor: (node, database) => forward({ host: "127.0.0.1", port: 0 }, database, "database", () => [node]),
    async peersOf(node, at, host) {
      await forward({ host, port: at.port }, at, "peers", (inner) => [
        node,
        ...nodes.filter((one) => hasConnection(pidOf(one), inner.remotePort ?? 0)),
      ]);
    },
    cut(node, part) {
      cuts.add(`${node} ${part}`);
      change();
    },
    heal(node, part) {
      cuts.delete(`${node} ${part}`);
      change();
    },
    stop() {
      for (const server of servers) server.close();
      for (const { sockets } of lines) for (const socket of sockets) socket.destroy();
    },
  };
}

/** Whether the process has the connection with this local port. Reads the system's tables of connections. */
function hasConnection(pid: number | undefined, localPort: number): boolean {
  if (pid === undefined) return false;
  const hex = localPort.toString(16).toUpperCase().padStart(4, "0");
  const inodes = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = ""]) => local.endsWith(`:${hex}`))
    .map((fields) => `socket:[${fields[9]}]`);
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.includes(linkOf(`/proc/${pid}/fd/${fd}`)));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
