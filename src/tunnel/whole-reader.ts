import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";
import type { MuxStream } from "./mux/stream.ts";

/** Reads a stream to its end. `done` is called once: with all of it, or undefined where it was cut or is too long. */
export class WholeReader implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #maxBytes: number;
  readonly #done: (bytes: Buffer | undefined) => void;
  readonly #bytes = new GatheredBytes();
  #isSettled = false;

  /** @param maxBytes of what is not too long */
  constructor(stream: MuxStream, maxBytes: number, done: (bytes: Buffer | undefined) => void) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#done = done;
  }

  data(bytes: Buffer): void {
    if (this.#bytes.length + bytes.length > this.#maxBytes) return this.#stream.abort();
    // What is kept must not hold the much larger buffer that it came in.
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
