import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";

/**
 * What has come of a request body and was not passed on yet: a few pieces while the request is being decided, or
 * all of it when a module wants to see it whole.
 */
export class RequestBody {
  #pieces: Buffer[] = [];
  #size = 0;
  #ended = false;
  #whole:
    | { readonly maxBytes: number; readonly resolve: (body: Buffer) => void; readonly reject: (error: Error) => void }
    | undefined;
  #promise: Promise<Buffer> | undefined;

  get size(): number {
    return this.#size;
  }

  /** A module waits for all of it. */
  get isCollecting(): boolean {
    return this.#whole !== undefined;
  }

  /** Keeps a piece. True when it is kept for a module, so that more may be read right away. */
  add(bytes: Buffer): boolean {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    const whole = this.#whole;
    if (whole === undefined) return false;
    if (this.#size > whole.maxBytes) this.fail("payload_too_large");
    return this.#whole !== undefined;
  }

  end(): void {
    this.#ended = true;
    const whole = this.#whole;
    if (whole === undefined) return;
    this.#whole = undefined;
    whole.resolve(this.#join());
  }

  /** Whoever waits for the whole body waits no more. */
  fail(reason: RefusalName): void {
    this.#whole?.reject(new Refusal(reason));
    this.#whole = undefined;
  }

  /** All of it, once it has ended; the pieces are still there to be passed on. */
  collect(maxBytes: number): Promise<Buffer> {
    if (this.#size > maxBytes) return Promise.reject(new Refusal("payload_too_large"));
    if (this.#ended) return Promise.resolve(this.#join());
    this.#promise ??= new Promise((resolve, reject) => {
      this.#whole = { maxBytes, resolve, reject };
    });
    return this.#promise;
  }

  /** The pieces, which are no longer kept. */
  take(): readonly Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    return pieces;
  }

  #join(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0] as Buffer;
  }
}
