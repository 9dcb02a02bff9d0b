/** Lines from this edge to others. Each one is opened on its first use. */
import { runContained } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { errorCode } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";
import type { MuxStream } from "../../tunnel/mux/mux-stream.ts";
import type { PendingStream } from "../../tunnel/server-hooks.ts";
import { watchLine } from "./line-watch.ts";
import { OpeningStream } from "./opening-stream.ts";
import { openPeerLine } from "./peer-line.ts";
import { renderPeerRequest } from "./peer-request.ts";
import type { PeerRequest } from "./peer-request.ts";
import type { PeerPlace, PeerTransport } from "./peer-transport.ts";

type Take = ConstructorParameters<typeof OpeningStream>[1];

export interface DialledLines {
  /** Returns a stream for the request: immediately if the line is open, otherwise after opening it. */
  ask(place: PeerPlace, request: PeerRequest, take: Take): PendingStream | undefined;
  close(): void;
}

/** An open line, or the requests that wait for it. */
interface DialledLine {
  mux: Mux | undefined;
  isUnreached: boolean;
  /** Whether the other edge has not answered for some time. Its streams stay open. */
  isSilent: boolean;
  readonly waiting: Set<(mux: Mux | undefined) => void>;
  /** Requests without an answer yet. */
  readonly opening: Set<OpeningStream>;
}

/**
 * Time for which an unreachable edge is not dialled again, milliseconds, or as long as the dial took. When an edge dies, thousands of requests need
 * it simultaneously.
 */
const unreachedMs = 250;

export function makeDialledLines(transports: readonly PeerTransport[], clock: Clock, log: Log): DialledLines {
  const lines = new Map<string, DialledLine>();
  let isClosed = false;

  const dial = ({ edgeId, address }: PeerPlace, key: string, line: DialledLine): void => {
    lines.set(key, line);
    const dialledAt = clock.monotonic();
    const forget = (): void => {
      if (lines.get(key) === line) lines.delete(key);
    };
    const settle = (mux: Mux | undefined): void => {
      line.mux = mux;
      if (!mux) clock.after(Math.max(unreachedMs, clock.monotonic() - dialledAt), forget);
      line.isUnreached = !mux;
      const waiting = [...line.waiting];
      line.waiting.clear();
      for (const one of waiting) runContained("stream", () => one(mux));
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
      const mux = openPeerLine(socket, "agent", { clock, incoming: refuseStream, closed });
      const silent = (isSilent: boolean): void => {
        line.isSilent = isSilent;
        if (!isSilent) return;
        for (const one of Array.from(line.opening)) runContained("stream", () => one.giveUp());
        mux.stalled();
      };
      const unwatch = watchLine(mux, clock, { ask: () => sendGreeting(mux), silent });
      settle(mux);
    });
  };
  return {
    ask(place, request, take) {
      const key = `${place.edgeId} ${place.address}`;
      const known = lines.get(key);
      const line = known ?? {
        mux: undefined,
        isUnreached: false,
        isSilent: false,
        waiting: new Set(),
        opening: new Set(),
      };
      const begin = (mux: Mux | undefined): PendingStream | undefined => {
        const stream = line.isSilent ? undefined : mux?.open();
        if (!stream) {
          // Stream numbers are used up. Open streams finish on this line, and new ones start on another.
          if (mux && !mux.over && !line.isSilent && lines.get(key)?.mux === mux) lines.delete(key);
          take(undefined, "tunnel_gone");
          return undefined;
        }
        const opening: OpeningStream = new OpeningStream(stream, (...taken) => {
          line.opening.delete(opening);
          take(...taken);
        });
        line.opening.add(opening);
        stream.receiver = opening;
        stream.write(renderPeerRequest(request));
        return { withdraw: () => line.opening.delete(opening) && opening.withdraw() };
      };
      if (known?.mux || known?.isUnreached === true) return begin(known.mux);
      const { waiting } = line;
      let opening: PendingStream | undefined;
      const connected = (mux: Mux | undefined): void => void (opening = begin(mux));
      waiting.add(connected);
      if (!known) dial(place, key, line);
      return { withdraw: () => waiting.delete(connected) || (opening?.withdraw() ?? false) };
    },
    close() {
      isClosed = true;
      for (const { mux } of lines.values()) mux?.close(errorCode.none, "the server is stopping");
    },
  };
}

/** Sends a request for a session that does not exist. */
function sendGreeting(mux: Mux): void {
  const stream = mux.open();
  if (!stream) return;
  stream.receiver = new OpeningStream(stream, () => undefined);
  stream.write(renderPeerRequest({ name: "ask", sessionId: "" }));
}

/** Only the edge that dialled sends requests. */
function refuseStream(stream: MuxStream): void {
  stream.abort();
}
