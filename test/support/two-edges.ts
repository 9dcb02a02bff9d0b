/** Two edges on separate ports under one directory. A test chooses where agents and visitors connect. */
import { keepDirectory } from "../../src/api/edges/directory.ts";
import type { EdgeLine } from "../../src/api/edges/edges.ts";
import { openPeerRoom } from "../../src/cli/platform/peer-room.ts";
import type { EdgeOptions, PeerOptions } from "../../src/edge/edge-options.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import { startTestEdge } from "./edge.ts";
import type { TestEdge } from "./edge.ts";

export interface TwoEdges {
  readonly edges: readonly [TestEdge, TestEdge];
  /** Commits one object at both edges. */
  put(object: Pick<ResourceObject, "kind" | "id" | "doc"> & { account_id?: string }): void;
  /** Holds back the edges' messages to the directory until `release`. */
  hold(): void;
  release(): void;
  stop(): Promise<void>;
}

/** How the edges reach one another. */
export type PeerWay = (typeof peerWays)[number];
export const peerWays = ["unix", "tls"] as const;

/** Addresses of the edges' TCP listeners. Ports of tcp tunnels are the same at both. */
export const tcpHosts = ["127.0.0.1", "127.0.0.2"] as const;

/** @param way whether the edges belong to one process or to two nodes */
export async function startTwoEdges(
  snapshot: readonly ResourceObject[],
  options: Partial<EdgeOptions> = {},
  way: PeerWay = "unix",
): Promise<TwoEdges> {
  const room = openPeerRoom();
  const authority = await createAuthority({ commonName: "Nodes", now: Date.now() });
  const nodes = { listen: { host: "127.0.0.1", port: 0 }, authority };
  const peers = (): PeerOptions => ({ count: 2, ...(way === "unix" ? { beside: room.place() } : { nodes }) });
  const directory = keepDirectory({ lineCount: 2 });
  let held: (() => void)[] | undefined;
  const start = (at: number): Promise<TestEdge> => {
    const line: { -readonly [K in keyof EdgeLine]: EdgeLine[K] } = { edgeId: undefined, send: () => {} };
    return startTestEdge(snapshot, { tcpBind: tcpHosts[at], ...options, peers: peers() }, (sent, send) => {
      line.send = send;
      const message =
        sent.type === "hello" && sent.peerPort !== undefined
          ? { ...sent, peerAddress: `tls:127.0.0.1:${sent.peerPort}` }
          : sent;
      const deliver = (): void => {
        directory.receive(message, line);
        if (message.type === "hello") directory.receive({ type: "told" }, line);
      };
      if (held) held.push(deliver);
      else deliver();
    });
  };
  const edges = [await start(0), await start(1)] as const;
  return {
    edges,
    put(object) {
      for (const edge of edges) edge.put(object);
    },
    hold: () => void (held = []),
    release() {
      const waiting = held ?? [];
      held = undefined;
      for (const deliver of waiting) deliver();
    },
    async stop() {
      for (const { edge } of edges) await edge.stop();
      room.close();
    },
  };
}
