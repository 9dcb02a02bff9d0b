/** Connects a visitor's stream to the client's service through a channel. */
import { RequestWatch } from "../../agent/request-watch.ts";
import type { WatchedRequest } from "../../agent/request-watch.ts";
import { unreachableResponse } from "../../agent/unreachable-response.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import { UnusedStream } from "../../lib/io/lost-stream.ts";
import { spliceStreams } from "../../lib/io/splice.ts";
import { encodeString, encodeUint32 } from "../ssh-wire.ts";
import type { Channels } from "../channels/channels.ts";
import type { ForwardRequest } from "./forward-request.ts";

export interface VisitorOptions {
  readonly channels: Channels;
  readonly clock: Clock;
  /** As the client requested it, which it compares. */
  readonly forward: ForwardRequest;
  /** `ip:port` or `[v6]:port`. */
  readonly clientAddress: string;
  /** Receives HTTP requests; undefined if the stream is not HTTP. */
  readonly requested: ((request: WatchedRequest) => void) | undefined;
  readonly hasProxyHeader: boolean;
  /** The client's service cannot be reached. */
  readonly unreachable: (why: string) => void;
}

/** Time limit for the server to close a stream whose service could not be reached, milliseconds. */
const lingerMs = 5_000;

export function serveVisitor(stream: ByteStream, options: VisitorOptions): void {
  const { channels, clock, forward, requested } = options;
  const early = new Early();
  stream.receiver = early;
  const [ip, port] = splitAddress(options.clientAddress);
  const fields = [encodeString(forward.address), encodeUint32(forward.port), encodeString(ip), encodeUint32(port)];
  channels.open("forwarded-tcpip", fields, (channel, why = "") => {
    if (early.isOver) return channel?.abort();
    if (!channel) return refuseVisitor(stream, early, options, why);
    const watch = requested && new RequestWatch(() => clock.monotonic(), options.hasProxyHeader, requested);
    let closed = 0;
    spliceStreams(stream, channel, {
      ...(watch && { forth: (bytes) => watch.fromServer(bytes), back: (bytes) => watch.fromService(bytes) }),
      closed: () => {
        closed += 1;
        if (closed === 2) watch?.ended();
      },
    });
    early.give(stream.receiver);
  });
}

/** Bytes that arrive before the channel is open. The window of the stream bounds them. */
class Early implements ByteReceiver {
  /** The stream has ended. */
  isOver = false;
  #held: Buffer[] = [];
  #hasEnded = false;

  data(bytes: Buffer): void {
    this.#held.push(bytes);
  }

  ended(): void {
    this.#hasEnded = true;
  }

  drained(): void {}

  closed(): void {
    this.isOver = true;
    this.#held = [];
  }

  give(receiver: ByteReceiver): void {
    for (const bytes of this.#held) receiver.data(bytes);
    if (this.#hasEnded) receiver.ended();
  }
}

function refuseVisitor(stream: ByteStream, early: Early, options: VisitorOptions, why: string): void {
  options.unreachable(why);
  if (!options.requested) return stream.lose ? stream.lose(new UnusedStream("upstream_refused", why)) : stream.abort();
  stream.writeLatin1(unreachableResponse("The SSH client could not reach its service.\n"));
  stream.end();
  options.clock.after(lingerMs, () => {
    if (!early.isOver) stream.abort();
  });
}

function splitAddress(address: string): readonly [ip: string, port: number] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon).replaceAll(/[[\]]/g, ""), Number(address.slice(colon + 1)) || 0];
}
