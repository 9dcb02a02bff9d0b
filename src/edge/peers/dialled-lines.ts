/** Lines from this edge to others. Each one is opened on its first use. */
import { contain } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { errorCode } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";
import type { MuxStream } from "../../tunnel/mux/stream.ts";
import type { PendingStream } from "../../tunnel/server-hooks.ts";
import { watchLine } from "./line-watch.ts";
import { OpeningStream } from "./opening-stream.ts";
import { openPeerLine } from "./peer-line.ts";
import { renderPeerRequest } from "./request.ts";
import type { PeerRequest } from "./request.ts";
import type { PeerPlace, PeerTransport } from "./transport.ts";

type Take = ConstructorParameters<typeof OpeningStream>[1];

export interface DialledLines {
  /** Returns a stream for the request: immediately if the line is open, otherwise after opening it. */
  ask(place: PeerPlace, request: PeerRequest, take: Take): PendingStream | undefined;
  close(): void;
}

/** An open line, or the requests that wait for it. */
type Line = { mux: Mux | undefined; isUnreached: boolean; readonly waiting: Set<(mux: Mux | undefined) => void> };

/**
 * Time for which an unreachable edge is not dialled again, milliseconds. When an edge dies, thousands of requests need
 * it simultaneously.
 */
const unreachedMs = 250;

export function makeDialledLines(transports: readonly PeerTransport[], clock: Clock, log: Log): DialledLines {
  const lines = new Map<string, Line>();
  let isClosed = false;

  const dial = ({ edgeId, address }: PeerPlace, key: string, line: Line): void => {
    lines.set(key, line);
    const forget = (): void => {
      if (lines.get(key) === line) lines.delete(key);
    };
    const settle = (mux: Mux | undefined): void => {
      line.mux = mux;
      if (!mux) clock.after(unreachedMs, forget);
      line.isUnreached = !mux;
      const waiting = [...line.waiting];
      line.waiting.clear();
      for (const one of waiting) contain("stream", () => one(mux));
    };
    const colon = address.indexOf(":");
    const transport = transports.find(({ kind }) => kind === address.slice(0, colon));
    if (!transport) return settle(undefined);
    transport.dial(address.slice(colon + 1), edgeId, (socket, error) => {
      if (!socket || isClosed) {
        log.warn("another edge is unreachable", { edge: edgeId, address, error });
        socket?.destroy();
        return settle(undefined);
      }
      const closed = (): void => {
        unwatch();
        forget();
      };
      const mux = openPeerLine(socket, "agent", { clock, incoming: refuse, closed });
      const unwatch = watchLine(mux, clock, () => greet(mux));
      settle(mux);
    });
  };
  return {
    ask(place, request, take) {
      const key = `${place.edgeId} ${place.address}`;
      const begin = (mux: Mux | undefined): PendingStream | undefined => {
        const stream = mux?.open();
        if (!stream) {
          // Stream numbers are used up. Open streams finish on this line, and new ones start on another.
          if (mux && !mux.over && lines.get(key)?.mux === mux) lines.delete(key);
          take(undefined, "tunnel_gone");
          return undefined;
        }
        const opening = new OpeningStream(stream, take);
        stream.receiver = opening;
        stream.write(renderPeerRequest(request));
        return opening;
      };
      const known = lines.get(key);
      if (known?.mux || known?.isUnreached === true) return begin(known.mux);
      const { waiting } = known ?? { waiting: new Set() };
      let opening: PendingStream | undefined;
      const connected = (mux: Mux | undefined): void => void (opening = begin(mux));
      waiting.add(connected);
      if (!known) dial(place, key, { mux: undefined, isUnreached: false, waiting });
      return { withdraw: () => waiting.delete(connected) || (opening?.withdraw() ?? false) };
    },
    close() {
      isClosed = true;
      for (const { mux } of lines.values()) mux?.close(errorCode.none, "the server is stopping");
    },
  };
}

/** Sends a request for a session that does not exist. */
function greet(mux: Mux): void {
  const stream = mux.open();
  if (!stream) return;
  stream.receiver = new OpeningStream(stream, () => undefined);
  stream.write(renderPeerRequest({ name: "ask", sessionId: "" }));
}

/** Only the edge that dialled sends requests. */
function refuse(stream: MuxStream): void {
  stream.abort();
}
