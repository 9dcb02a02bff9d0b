/** The lines between the edges: one from each edge to each other that it wants something of, opened when it first does. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { errorCode } from "../../tunnel/mux/frame.ts";
import { Mux } from "../../tunnel/mux/mux.ts";
import { discard } from "../../tunnel/mux/stream.ts";
import type { MuxStream, StreamWatcher } from "../../tunnel/mux/stream.ts";
import type { PendingStream, ProxyHeader, TakeStream } from "../../tunnel/server-hooks.ts";
import { dialPeer } from "./address.ts";
import type { PeerAddress } from "./address.ts";
import { ArrivingStream } from "./arriving-stream.ts";
import type { PeerHost } from "./arriving-stream.ts";
import { provePeer } from "./handshake.ts";
import { OpeningStream } from "./opening-stream.ts";
import { renderPeerRequest } from "./request.ts";
import type { PeerRequest } from "./request.ts";

export interface PeersOptions {
  readonly secret: Uint8Array;
  readonly host: PeerHost;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface Peers {
  /** Lets others open lines to this edge. Rejects when the address cannot be had. */
  listen(at: PeerAddress): Promise<void>;
  /** As `AgentSession.openProxy`, for a tunnel that the edge at `address` has. `watcher` is told when the stream is over. */
  open(address: string, header: ProxyHeader, watcher: StreamWatcher, take: TakeStream): PendingStream | undefined;
  /** As `AgentSession.ask`, for a session that the edge at `address` has: an edge that is not there has none. */
  ask(address: string, sessionId: string, done: (isThere: boolean) => void): void;
  close(): void;
}

/** Streams of one line: as many as an agent of ours may have. */
const maxStreams = 16_384;
/** Largest window of one stream, bytes; and the sum of what is grown per line. */
const maxWindow = 1024 * 1024;
const windowBudget = 256 * 1024 * 1024;

/** A line that is open, or those who wait for it. */
type Line = { mux: Mux | undefined; readonly waiting: Set<(mux: Mux | undefined) => void> };

export function makePeers({ secret, host, clock, log, metrics }: PeersOptions): Peers {
  const opened = metrics.counter("postern_peer_streams_total", "Streams opened to tunnels of other edges.");
  const failed = metrics.counter(
    "postern_peer_streams_failed_total",
    "Streams to tunnels of other edges that could not be had.",
  );
  const dialled = new Map<string, Line>();
  const accepted = new Set<Socket>();
  let isClosed = false;

  const muxOver = (
    socket: Socket,
    side: "agent" | "server",
    incoming: (stream: MuxStream) => void,
    closed: (error: Error | undefined) => void,
  ): Mux => {
    const bug = (error: unknown): void => log.error("line to another edge failed", { error });
    const mux = new Mux(
      socket,
      { side, clock, maxIncoming: maxStreams, answersAtOnce: false },
      { incoming, bug, closed },
    );
    mux.sleepsThroughResets = false;
    mux.windows.allow(maxWindow, windowBudget);
    // What was left unread by the handshake begins to flow.
    socket.resume();
    return mux;
  };
  const dial = (address: string, line: Line): void => {
    dialled.set(address, line);
    const settle = (mux: Mux | undefined): void => {
      line.mux = mux;
      if (!mux && dialled.get(address) === line) dialled.delete(address);
      const waiting = [...line.waiting];
      line.waiting.clear();
      for (const one of waiting) one(mux);
    };
    const socket = dialPeer(address);
    if (!socket) return settle(undefined);
    socket.on("error", ignore);
    provePeer(socket, "dialler", secret, clock, (error) => {
      if (error || isClosed) {
        log.warn("another edge cannot be reached", { address, error });
        socket.destroy();
        return settle(undefined);
      }
      const nobody = (stream: MuxStream): void => stream.abort();
      const mux = muxOver(socket, "agent", nobody, () => {
        if (dialled.get(address) === line) dialled.delete(address);
      });
      settle(mux);
    });
  };
  /** The stream is asked for at once where the line is open, and later where it must be opened first. */
  const ask = (address: string, request: PeerRequest, take: Take): PendingStream | undefined => {
    const begin = (mux: Mux | undefined): PendingStream | undefined => {
      const stream = mux?.open();
      if (!stream) {
        // Out of numbers for streams: those that are open end on this line, new ones begin on another.
        if (mux && !mux.over && dialled.get(address)?.mux === mux) dialled.delete(address);
        take(undefined, "tunnel_gone");
        return undefined;
      }
      const opening = new OpeningStream(stream, take);
      stream.receiver = opening;
      stream.write(renderPeerRequest(request));
      return opening;
    };
    const known = dialled.get(address);
    if (known?.mux) return begin(known.mux);
    const { waiting } = known ?? { waiting: new Set() };
    let opening: PendingStream | undefined;
    const connected = (mux: Mux | undefined): void => void (opening = begin(mux));
    waiting.add(connected);
    if (!known) dial(address, { mux: undefined, waiting });
    return { withdraw: () => waiting.delete(connected) || (opening?.withdraw() ?? false) };
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", ignore);
    accepted.add(socket);
    socket.once("close", () => accepted.delete(socket));
    provePeer(socket, "acceptor", secret, clock, (error) => {
      if (error) return log.warn("line from another edge refused", { error });
      muxOver(socket, "server", (stream) => (stream.receiver = new ArrivingStream(stream, host)), nothing);
    });
  });
  return {
    async listen({ path }) {
      server.listen({ path });
      await once(server, "listening");
    },
    open(address, header, watcher, take) {
      return ask(address, { name: "open", header }, (stream, why) => {
        if (stream) stream.watcher = watcher;
        (stream ? opened : failed).add();
        take(stream, why);
      });
    },
    ask(address, sessionId, done) {
      let isDone = false;
      const settle = (isThere: boolean): void => {
        if (isDone) return;
        isDone = true;
        deadline.cancel();
        done(isThere);
      };
      const deadline = clock.after(askMs, () => settle(true));
      ask(address, { name: "ask", sessionId }, (stream) => {
        if (stream) {
          stream.receiver = discard;
          stream.end();
        }
        settle(stream !== undefined);
      });
    },
    close() {
      isClosed = true;
      for (const { mux } of dialled.values()) mux?.close(errorCode.none, "the server is stopping");
      if (server.listening) server.close();
      for (const socket of accepted) socket.destroy();
    },
  };
}

/** A little longer than the other edge waits for the agent. */
const askMs = 3_000;

type Take = ConstructorParameters<typeof OpeningStream>[1];

function ignore(): void {
  // `close` follows, and is what counts
}

function nothing(): void {}
