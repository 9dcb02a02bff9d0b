/** One line between two edges: the agent protocol's multiplexer on a connection whose ends are proven. */
import type { Socket } from "node:net";
import { reportFailure } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { WindowReserve } from "../../lib/io/receive-window.ts";
import { Mux } from "../../tunnel/mux/mux.ts";
import type { MuxStream } from "../../tunnel/mux/mux-stream.ts";

/** Maximum number of streams on one line, the same as for one of our agents. */
const maxStreams = 16_384;
/** Maximum window of one stream, and maximum total growth of windows per line, bytes. */
const maxWindow = 1024 * 1024;
const windowBudget = 256 * 1024 * 1024;

export interface PeerLineOptions {
  readonly clock: Clock;
  /** Called with a stream of the other end. It must set the stream's receiver before it returns. */
  readonly incoming: (stream: MuxStream) => void;
  /** Called once. */
  readonly closed: () => void;
}

/** @param side the dialling edge is the agent's side. Each line carries the requests of one of the two edges */
export function openPeerLine(socket: Socket, side: "agent" | "server", options: PeerLineOptions): Mux {
  const { clock, incoming, closed } = options;
  const mux = new Mux(
    socket,
    { side, clock, maxIncoming: maxStreams, answersAtOnce: false },
    { incoming, bug: (error) => reportFailure("session", error), closed },
  );
  mux.sleepsThroughResets = false;
  mux.reportsUnused = true;
  mux.windows.allow(maxWindow, new WindowReserve(windowBudget));
  // Starts reading the bytes that the handshake left unread.
  socket.resume();
  return mux;
}
