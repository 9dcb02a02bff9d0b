import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";
import type { MuxStream } from "./mux/mux-stream.ts";

/**
 * Reads a stream to its end. Calls `done` once with all bytes, or with undefined if the stream was cut or is too long.
 */
export class WholeReader implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #maxBytes: number;
  readonly #done: (bytes: Buffer | undefined) => void;
  readonly #bytes = new GatheredBytes();
  #isSettled = false;

  /** @param maxBytes maximum length */
  constructor(stream: MuxStream, maxBytes: number, done: (bytes: Buffer | undefined) => void) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#done = done;
  }

  data(bytes: Buffer): void {
    if (this.#bytes.length + bytes.length > this.#maxBytes) return this.#stream.abort();
    // Copy the bytes, so that they do not retain the much larger receive buffer.
    this.#bytes.add(this.#bytes.length === 0 ? Buffer.from(bytes) : bytes);
    this.#stream.consumed(bytes.length);
  }

  ended(): void {
    this.#stream.end();
    this.#settle(this.#bytes.join());
  }

  drained(): void {}

  closed(): void {
    this.#settle(undefined);
  }

  #settle(bytes: Buffer | undefined): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#done(bytes);
  }
}
