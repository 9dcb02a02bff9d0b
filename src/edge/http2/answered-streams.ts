import type { Deadlines } from "../../lib/deadlines.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";
import { errorCode, frameType } from "../../http2/http2-frames.ts";
import type { Http2Output } from "./output.ts";

/** Number of discarded bytes of a stream at which its window is widened. */
const returnBytes = 16 * 1024;

/** Opaque data of the PING, any eight bytes. */
const wake = Buffer.alloc(8);

interface UnreadStream {
  readonly rest: UnreadRest;
  /** Discarded bytes for which the stream's window was not yet widened. */
  owed: number;
}

/**
 * Streams whose response is complete while the client still sends its request (RFC 9113 §8.1). Their DATA is discarded
 * until the client ends the stream. A client that continues for too long gets RST_STREAM(NO_ERROR). Clients lose the
 * response if that frame follows it immediately.
 */
export class AnsweredStreams {
  readonly #output: Http2Output;
  readonly #deadlines: Deadlines;
  readonly #reset: (id: number) => void;
  readonly #streams = new Map<number, UnreadStream>();

  /** @param reset called when a stream was reset, because more frames of it may arrive */
  constructor(output: Http2Output, deadlines: Deadlines, reset: (id: number) => void) {
    this.#output = output;
    this.#deadlines = deadlines;
    this.#reset = reset;
  }

  /** @param max streams that may wait for their client's end. Beyond it the oldest one is reset */
  add(id: number, max: number): void {
    this.#streams.set(id, { rest: new UnreadRest(this.#deadlines.now), owed: 0 });
    if (this.#streams.size <= max) return;
    for (const oldest of this.#streams.keys()) return this.#end(oldest);
  }

  has(id: number): boolean {
    return this.#streams.size > 0 && this.#streams.has(id);
  }

  /** Discards a DATA frame. Returns false if the stream is not in this set. */
  drop(id: number, byteCount: number): boolean {
    const stream = this.#streams.size > 0 ? this.#streams.get(id) : undefined;
    if (stream === undefined) return false;
    stream.owed += byteCount;
    if (!stream.rest.drop(byteCount, this.#deadlines.now)) this.#end(id);
    else if (stream.owed >= returnBytes) {
      this.#output.number(frameType.windowUpdate, id, stream.owed);
      stream.owed = 0;
    }
    return true;
  }

  /** Removes a stream that the client has reset. */
  lost(id: number): void {
    this.#streams.delete(id);
  }

  /**
   * Removes a stream that the client has ended. After a refusal, curl 7.88 stops its upload, ends its stream, and waits
   * for another frame before it completes the response. A PING is that frame.
   */
  ended(id: number): void {
    if (this.#streams.delete(id)) this.#output.frame(frameType.ping, 0, 0, wake);
  }

  /** Resets streams whose clients have been silent, or have continued sending, for too long. */
  look(): void {
    for (const [id, { rest }] of this.#streams) if (rest.expiresAt <= this.#deadlines.now) this.#end(id);
  }

  #end(id: number): void {
    this.#streams.delete(id);
    this.#output.number(frameType.rstStream, id, errorCode.noError);
    this.#reset(id);
  }
}
