import type { Socket } from "node:net";
import type { FieldTable } from "../../http1/field-table.ts";
import { reasonPhrase } from "../../http1/reasons.ts";
import { putBytes, putLatin1, reserve, slab } from "../../http1/slab.ts";
import { writeChunk, writeLastChunk } from "../../http1/write-chunk.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { reportFailure } from "../../lib/boundary.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import { corkForTurn } from "../../lib/io/socket-stream.ts";

/** Bodies up to this size are copied behind their head, so that both are one write. */
const joinBytes = 16 * 1024;
/** Status line, framing and connection fields at most, besides reason, fields and request id. */
const headBytes = 160;

const nothing = Buffer.alloc(0);

/** `HTTP/1.1 200 ` by status, as they are needed. */
const statusStarts: string[] = [];

function statusStart(status: number): string {
  return (statusStarts[status] ??= `HTTP/1.1 ${status} `);
}

/** Writes responses to a client's socket: head and small body in one write behind the turn, large bodies corked for it. */
export class Http1Output implements TurnTask {
  readonly #socket: Socket;
  /** Written to the slab but not to the socket: [start, end) of `#bytes`. */
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;
  #isWaiting = false;
  #chunked = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * A response head, or an interim one, which has no request id.
   * @param lines further field lines, each ended by CR LF
   */
  head(
    status: number,
    reason: string | undefined,
    fields: FieldTable | undefined,
    requestId: TrafficId | undefined,
    lines: string,
    chunked: boolean,
  ): void {
    this.#chunked = chunked;
    const phrase = reason ?? reasonPhrase(status);
    reserve(headBytes + phrase.length + (fields?.byteBound ?? 0) + trafficIdLength + lines.length);
    this.flush();
    const { bytes, used } = slab;
    let at = putLatin1(bytes, used, statusStart(status));
    at = putLatin1(bytes, at, phrase);
    at = putLatin1(bytes, at, "\r\n");
    if (fields !== undefined) at = fields.write(bytes, at);
    if (requestId !== undefined) {
      at = putLatin1(bytes, at, "x-request-id: ");
      at = requestId.write(bytes, at);
      at = putLatin1(bytes, at, "\r\n");
    }
    at = putLatin1(bytes, at, lines);
    at = putLatin1(bytes, at, "\r\n");
    slab.used = at;
    this.#bytes = bytes;
    this.#start = used;
    this.#end = at;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    putOff(this, phase.sockets);
  }

  /** False: hold on until the socket drains. */
  body(bytes: Buffer): boolean {
    if (this.#chunked) return writeChunk(this, bytes);
    return this.write(bytes);
  }

  end(trailers: FieldTable | undefined): void {
    if (this.#chunked) writeLastChunk(this, trailers);
    this.#chunked = false;
  }

  /** Raw bytes behind what was written before. */
  write(bytes: Uint8Array): boolean {
    const { length } = bytes;
    if (this.#end > this.#start) {
      const isLast = this.#bytes === slab.bytes && this.#end === slab.used;
      if (length <= joinBytes && isLast && slab.bytes.length - slab.used >= length) {
        this.#end = slab.used = putBytes(slab.bytes, slab.used, bytes, 0, length);
        return true;
      }
      // A chunk's framing is in the slab already, right behind what waits.
      if (bytes.buffer === this.#bytes.buffer && bytes.byteOffset === this.#bytes.byteOffset + this.#end) {
        this.#end += length;
        return true;
      }
      corkForTurn(this.#socket);
      this.flush();
    } else corkForTurn(this.#socket);
    return this.#socket.write(bytes);
  }

  turn(): void {
    this.#isWaiting = false;
    this.flush();
  }

  /** A write at the end of the turn threw: the connection cannot go on. */
  broke(error: unknown): void {
    reportFailure("connection", error);
    this.#socket.destroy();
  }

  flush(): void {
    if (this.#end === this.#start) return;
    this.#socket.write(this.#bytes.subarray(this.#start, this.#end));
    this.#start = this.#end = 0;
    // A block lasts as long as somebody holds it, and connections are idle for long.
    this.#bytes = nothing;
  }
}
