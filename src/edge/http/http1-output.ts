import type { Socket } from "node:net";
import type { FieldTable } from "../../http1/field-table.ts";
import { reasonPhrase } from "../../http1/reasons.ts";
import { putBytes, putLatin1, reserve, slab } from "../../http1/slab.ts";
import { writeChunk, writeLastChunk } from "../../http1/write-chunk.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { contained, reportFailure } from "../../lib/boundary.ts";
import { leastPieceBytes } from "../../lib/gathered-bytes.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import { corkForTurn } from "../../lib/io/socket-stream.ts";

/** Bodies up to this size are copied behind their head, so that both are one write. */
const joinBytes = 16 * 1024;
/** Status line, framing and connection fields at most, besides reason, fields and request id. */
const headBytes = 160;

/** Pieces that may wait for a client: what the queue of the socket counts is bytes alone. */
const maxPieces = 64;

const nothing = Buffer.alloc(0);

/** `HTTP/1.1 200 ` by status, as they are needed. */
const statusStarts: string[] = [];

function statusStart(status: number): string {
  return (statusStarts[status] ??= `HTTP/1.1 ${status} `);
}

/** Writes responses to a client's socket: head and small body in one write behind the turn, large bodies corked for it. */
export class Http1Output implements TurnTask {
  readonly #socket: Socket;
  readonly #drained: () => void;
  /** What was written in earlier turns still waits for the client. */
  #isBackedUp = false;
  /** Pieces that wait since then. */
  #pieces = 0;
  /** `write` returned false although the socket had room. */
  #isHeld = false;
  #took: (() => void) | undefined;
  /** Written to the slab but not to the socket: [start, end) of `#bytes`. */
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;
  #isWaiting = false;
  #chunked = false;

  /** @param drained called after a `write` that returned false, unless the socket calls it; harmless when repeated */
  constructor(socket: Socket, drained: () => void) {
    this.#socket = socket;
    this.#drained = drained;
  }

  /** Bytes that wait for the client. Each piece counts as what it takes at least. */
  get waitingBytes(): number {
    return Math.max(this.#socket.writableLength, this.#pieces * leastPieceBytes);
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
      this.flush();
    }
    return this.#put(bytes);
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
    this.#put(this.#bytes.subarray(this.#start, this.#end));
    this.#start = this.#end = 0;
    // A block lasts as long as somebody holds it, and connections are idle for long.
    this.#bytes = nothing;
  }

  #put(bytes: Uint8Array): boolean {
    const socket = this.#socket;
    if (!this.#isBackedUp && (socket.writableLength === 0 || socket.writableCorked > 0)) {
      corkForTurn(socket);
      return socket.write(bytes);
    }
    return this.#putBehind(bytes);
  }

  /** For a client that takes its response slowly: few pieces wait, and small ones hold no block that others share. */
  #putBehind(bytes: Uint8Array): boolean {
    this.#isBackedUp = true;
    this.#pieces += 1;
    this.#took ??= contained(
      "connection",
      () => this.#tookAll(),
      () => this.#socket.destroy(),
    );
    corkForTurn(this.#socket);
    const hasRoom = this.#socket.write(bytes.length <= joinBytes ? Buffer.from(bytes) : bytes, this.#took);
    if (hasRoom && this.#pieces < maxPieces) return true;
    this.#isHeld ||= hasRoom;
    return false;
  }

  #tookAll(): void {
    if (this.#socket.writableLength > 0) return;
    this.#isBackedUp = false;
    this.#pieces = 0;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#drained();
  }
}
