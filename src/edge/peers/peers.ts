/** Lines between the edges. Each edge opens one to each other edge on first use. */
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Relayed, RelayedAnswer } from "../../routing/planes/messages.ts";
import { errorCode } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";
import { discard } from "../../tunnel/mux/mux-stream.ts";
import type { MuxStream, StreamWatcher } from "../../tunnel/mux/mux-stream.ts";
import type { PendingStream, ProxyHeader, TakeStream } from "../../tunnel/server-hooks.ts";
import { WholeReader } from "../../tunnel/whole-reader.ts";
import { ArrivingStream } from "./arriving-stream.ts";
import type { PeerHost } from "./arriving-stream.ts";
import { makeDialledLines } from "./dialled-lines.ts";
import { openPeerLine } from "./peer-line.ts";
import { tlsTransport } from "./tls-transport.ts";
import type { TlsPlace } from "./tls-transport.ts";
import type { PeerPlace, PeerTransport } from "./peer-transport.ts";
import { unixTransport } from "./unix-transport.ts";
import type { UnixPlace } from "./unix-transport.ts";

export interface PeersOptions {
  readonly edgeId: string;
  /** Where edges of the same process reach this one. */
  readonly beside?: UnixPlace | undefined;
  /** Where edges of other machines reach this one. */
  readonly nodes?: TlsPlace | undefined;
  readonly host: PeerHost;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Addresses at which this edge is reachable. */
export interface PeerPlaces {
  /** Address for the edges of this process, as in `PeerPlace`. */
  readonly address?: string;
  /**
   * Port for the edges of other machines. Only the port, because a listener on all addresses does not know its public
   * one.
   */
  readonly port?: number;
}

export interface Peers {
  /** Accepts lines from other edges. Rejects if an address is not available. */
  listen(): Promise<PeerPlaces>;
  /** Like `AgentSession.openProxy`, for a tunnel of the edge at `place`. Calls `watcher` when the stream is over. */
  open(place: PeerPlace, header: ProxyHeader, watcher: StreamWatcher, take: TakeStream): PendingStream | undefined;
  /** Like `AgentSession.ask`, for a session of the edge at `place`. An unreachable edge has no sessions. */
  ask(place: PeerPlace, sessionId: string, done: (isThere: boolean) => void): void;
  /** Like `AgentSession.tellTimes`, for a session of the edge at `place`. */
  tellTimes(place: PeerPlace, sessionId: string, times: string): void;
  /** Resolves with the answer of the edge at `place`, or undefined if it does not answer. */
  relay(place: PeerPlace, message: Relayed): Promise<RelayedAnswer | undefined>;
  /** Number of streams that edges of other nodes have open here. */
  readonly serving: number;
  close(): void;
}

/** Maximum size of an edge's answer to one question, bytes. */
const maxReplyBytes = 16 * 1024 * 1024;
/** Longer than the requester waits. */
const relayMs = 30_000;
/** Slightly longer than the other edge waits for the agent. */
const askMs = 3_000;

export function makePeers(options: PeersOptions): Peers {
  const { beside, nodes, host, clock, log, metrics } = options;
  const opened = metrics.counter("postern_peer_streams_total", "Streams opened to tunnels of other edges.");
  const failed = metrics.counter("postern_peer_streams_failed_total", "Streams to tunnels of other edges that failed.");
  const unix = beside && unixTransport(beside, clock, log);
  const tls = nodes && tlsTransport({ ...nodes, ...options });
  const transports = [unix, tls].filter((one): one is PeerTransport => one !== undefined);
  const lines = makeDialledLines(transports, clock, log);
  const accepted = new Set<Mux>();
  const ofNodes = new Set<Mux>();
  const arrived = (socket: Socket): Mux => {
    const mux = openPeerLine(socket, "server", {
      clock,
      incoming: (stream) => (stream.receiver = new ArrivingStream(stream, host)),
      closed() {
        accepted.delete(mux);
        ofNodes.delete(mux);
      },
    });
    accepted.add(mux);
    return mux;
  };
  return {
    async listen() {
      const path = await unix?.listen(arrived);
      const port = await tls?.listen((socket) => ofNodes.add(arrived(socket)));
      return {
        ...(unix && { address: `${unix.kind}:${path}` }),
        ...(port !== undefined && { port: Number(port) }),
      };
    },
    open(place, header, watcher, take) {
      return lines.ask(place, { name: "open", header }, (stream, why) => {
        if (stream) stream.watcher = watcher;
        (stream ? opened : failed).add();
        take(stream, why);
      });
    },
    ask(place, sessionId, done) {
      let isDone = false;
      const settle = (isThere: boolean): void => {
        if (isDone) return;
        isDone = true;
        deadline.cancel();
        done(isThere);
      };
      const deadline = clock.after(askMs, () => settle(true));
      lines.ask(place, { name: "ask", sessionId }, (stream) => {
        endStream(stream);
        settle(stream !== undefined);
      });
    },
    tellTimes(place, sessionId, times) {
      lines.ask(place, { name: "times", sessionId, times }, endStream);
    },
    relay(place, message) {
      const { promise, resolve } = Promise.withResolvers<RelayedAnswer | undefined>();
      lines.ask(place, { name: "relay", message }, (stream) => {
        if (!stream) return resolve(undefined);
        const deadline = clock.after(relayMs, () => stream.abort());
        stream.receiver = new WholeReader(stream, maxReplyBytes, (bytes) => {
          deadline.cancel();
          resolve(bytes && (JSON.parse(bytes.toString()) as RelayedAnswer));
        });
      });
      return promise;
    },
    get serving() {
      return ofNodes.values().reduce((sum, { incomingCount }) => sum + incomingCount, 0);
    },
    close() {
      lines.close();
      for (const transport of transports) transport.close();
      for (const mux of accepted) mux.close(errorCode.none, "the server is stopping");
    },
  };
}

/** Ends a stream of which only the answer matters. */
function endStream(stream: MuxStream | undefined): void {
  if (!stream) return;
  stream.receiver = discard;
  stream.end();
}
