import type { Deadlines } from "../../lib/deadlines.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";
import { errorCode, frameType } from "../../http2/frames.ts";
import type { Http2Output } from "./output.ts";

/** Dropped bytes of a stream, at which its client may send as many again. */
const returnBytes = 16 * 1024;

/** Any eight bytes. */
const wake = Buffer.alloc(8);

interface Answered {
  readonly rest: UnreadRest;
  /** Dropped bytes that the stream's window was not widened by yet. */
  owed: number;
}

/**
 * Streams whose answer is complete while the client still sends its request (RFC 9113 §8.1). Their DATA is dropped until
 * the client ends the stream. A client that goes on for too long gets RST_STREAM(NO_ERROR). Clients lose the answer when
 * that frame follows the answer immediately.
 */
export class AnsweredStreams {
  readonly #output: Http2Output;
  readonly #deadlines: Deadlines;
  readonly #reset: (id: number) => void;
  readonly #streams = new Map<number, Answered>();

  /** @param reset called when a stream was reset: frames of it may still be under way */
  constructor(output: Http2Output, deadlines: Deadlines, reset: (id: number) => void) {
    this.#output = output;
    this.#deadlines = deadlines;
    this.#reset = reset;
  }

  /** @param max streams that may wait for their client's end; beyond it the oldest one is reset */
  add(id: number, max: number): void {
    this.#streams.set(id, { rest: new UnreadRest(this.#deadlines.now), owed: 0 });
    if (this.#streams.size <= max) return;
    for (const oldest of this.#streams.keys()) return this.#end(oldest);
  }

  has(id: number): boolean {
    return this.#streams.size > 0 && this.#streams.has(id);
  }

  /** A frame of DATA is dropped. False when the stream is not one of these. */
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

  /** The client has reset the stream. */
  lost(id: number): void {
    this.#streams.delete(id);
  }

  /**
   * The client has ended the stream. curl 7.88 stops its upload at a refusal and ends its stream, then waits for another
   * frame before it sees that the answer is complete: a PING is that frame.
   */
  ended(id: number): void {
    if (this.#streams.delete(id)) this.#output.frame(frameType.ping, 0, 0, wake);
  }

  /** Resets streams whose clients have been silent, or have gone on, for too long. */
  look(): void {
    for (const [id, { rest }] of this.#streams) if (rest.expiresAt <= this.#deadlines.now) this.#end(id);
  }

  #end(id: number): void {
    this.#streams.delete(id);
    this.#output.number(frameType.rstStream, id, errorCode.noError);
    this.#reset(id);
  }
}
