import type { ByteReceiver } from "../../lib/io/byte-stream.ts";
import type { MuxStream } from "../../tunnel/mux/mux-stream.ts";
import type { NoStream, PendingStream } from "../../tunnel/server-hooks.ts";
import { peerAnswer } from "./peer-request.ts";

/** A stream to another edge that waits for its answer. Afterwards its taker owns it. */
export class OpeningStream implements ByteReceiver, PendingStream {
  readonly #stream: MuxStream;
  readonly #take: (stream: MuxStream | undefined, why?: NoStream) => void;
  #isSettled = false;

  constructor(stream: MuxStream, take: (stream: MuxStream | undefined, why?: NoStream) => void) {
    this.#stream = stream;
    this.#take = take;
  }

  data(bytes: Buffer): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const stream = this.#stream;
    stream.consumed(1);
    if (bytes[0] !== peerAnswer.opened) {
      stream.abort();
      this.#take(undefined, bytes[0] === peerAnswer.busy ? "tunnel_busy" : "tunnel_gone");
      return;
    }
    this.#take(stream);
    if (bytes.length > 1) stream.receiver.data(bytes.subarray(1));
  }

  ended(): void {
    this.#stream.abort();
  }

  drained(): void {}

  closed(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#take(undefined, "tunnel_gone");
  }

  /** The other edge does not answer. */
  giveUp(): void {
    if (this.withdraw()) this.#take(undefined, "tunnel_gone");
  }

  withdraw(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#stream.abort();
    return true;
  }
}
