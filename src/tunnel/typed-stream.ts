/** Every stream starts with four bytes for its purpose (agent-protocol, "Streams"). */
import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import type { MuxStream } from "./mux/mux-stream.ts";

export const streamType = {
  auth: 0,
  bind: 1,
  unbind: 2,
  proxy: 3,
  restart: 4,
  stop: 5,
  update: 6,
  startLabelled: 7,
  serverInfo: 8,
  stopTunnel: 9,
  patchTunnel: 10,
  /** Used only between Postern's own agent and server. */
  requestTimes: 11,
  exchange: 12,
  replay: 13,
  join: 14,
  inbox: 15,
  heartbeat: 0xffff_ffff,
} as const;

/** Reads the type, then calls `begin`, which must set the receiver of the remaining bytes. */
export class TypeReceiver implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #begin: (type: number, stream: MuxStream) => void;
  readonly #gone: (() => void) | undefined;
  #type = 0;
  #length = 0;

  /** @param gone called if the stream ends before its type has arrived */
  constructor(stream: MuxStream, begin: (type: number, stream: MuxStream) => void, gone?: () => void) {
    this.#gone = gone;
    this.#stream = stream;
    this.#begin = begin;
  }

  data(bytes: Buffer): void {
    let at = 0;
    while (this.#length < 4 && at < bytes.length) {
      this.#type = ((this.#type << 8) | (bytes[at] as number)) >>> 0;
      this.#length += 1;
      at += 1;
    }
    this.#stream.consumed(at);
    if (this.#length < 4) return;
    this.#begin(this.#type, this.#stream);
    if (at < bytes.length && !this.#stream.over) this.#stream.receiver.data(bytes.subarray(at));
  }

  ended(): void {
    this.#stream.end();
  }

  drained(): void {}

  closed(): void {
    this.#gone?.();
  }
}
