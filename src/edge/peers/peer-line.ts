/** One line between two edges: the multiplexer of the agent protocol over a connection whose ends are proven. */
import type { Socket } from "node:net";
import { reportFailure } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { WindowReserve } from "../../lib/io/receive-window.ts";
import { Mux } from "../../tunnel/mux/mux.ts";
import type { MuxStream } from "../../tunnel/mux/stream.ts";

/** Streams of one line: as many as an agent of ours may have. */
const maxStreams = 16_384;
/** Largest window of one stream, bytes; and the sum of what is grown per line. */
const maxWindow = 1024 * 1024;
const windowBudget = 256 * 1024 * 1024;

export interface PeerLineOptions {
  readonly clock: Clock;
  /** A stream of the other end; its receiver must be set before returning. */
  readonly incoming: (stream: MuxStream) => void;
  /** Called once. */
  readonly closed: () => void;
}

/** @param side whoever dialled is the agent's side: each line carries the requests of one of the two */
export function openPeerLine(socket: Socket, side: "agent" | "server", options: PeerLineOptions): Mux {
  const { clock, incoming, closed } = options;
  const mux = new Mux(
    socket,
    { side, clock, maxIncoming: maxStreams, answersAtOnce: false },
    { incoming, bug: (error) => reportFailure("session", error), closed },
  );
  mux.sleepsThroughResets = false;
  mux.windows.allow(maxWindow, new WindowReserve(windowBudget));
  // What was left unread by the handshake begins to flow.
  socket.resume();
  return mux;
}
