import type { Socket } from "node:net";
import type { FieldTable } from "../../http1/field-table.ts";
import { reasonPhrase } from "../../http1/reasons.ts";
import { putBytes, putLatin1, reserveSlab, slab } from "../../http1/slab.ts";
import { writeChunk, writeLastChunk } from "../../http1/write-chunk.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { makeContained, reportFailure } from "../../lib/boundary.ts";
import { leastPieceBytes } from "../../lib/gathered-bytes.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import { corkForTurn } from "../../lib/io/socket-stream.ts";

/** Maximum size of a body that is copied behind its head, so that both are one write, bytes. */
const joinBytes = 16 * 1024;
/** Maximum size of status line, framing and connection fields, without reason, fields and request id, bytes. */
const headBytes = 160;

/** Maximum number of pieces that wait for a client. The socket's queue only counts bytes. */
const maxPieces = 64;

const nothing = Buffer.alloc(0);

/** `HTTP/1.1 200 ` by status, created on first use. */
const statusStarts: string[] = [];

function statusStart(status: number): string {
  return (statusStarts[status] ??= `HTTP/1.1 ${status} `);
}

/**
 * Writes responses to a client's socket. Head and small body are written together after the turn. Large bodies are
 * written corked.
 */
export class Http1Output implements TurnTask {
  readonly #socket: Socket;
  readonly #drained: () => void;
  /** Whether bytes from earlier turns still wait for the client. */
  #isBackedUp = false;
  /** Number of pieces that wait since then. */
  #pieces = 0;
  /** Whether `write` returned false although the socket had room. */
  #isHeld = false;
  #took: (() => void) | undefined;
  /** Bytes in the slab that were not yet given to the socket: [start, end) of `#bytes`. */
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;
  #isWaiting = false;
  #chunked = false;

  /**
   * @param drained called after a `write` that returned false, unless the socket calls it. Repeated calls are harmless.
   */
  constructor(socket: Socket, drained: () => void) {
    this.#socket = socket;
    this.#drained = drained;
  }

  /** Number of bytes that wait for the client. Each piece counts at least its minimum memory. */
  get waitingBytes(): number {
    return Math.max(this.#socket.writableLength, this.#pieces * leastPieceBytes);
  }

  /**
   * Writes a response head. An interim head has no request id.
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
    reserveSlab(headBytes + phrase.length + (fields?.byteBound ?? 0) + trafficIdLength + lines.length);
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

  /** Returns false if the caller must wait until the socket drains. */
  body(bytes: Buffer): boolean {
    if (this.#chunked) return writeChunk(this, bytes);
    return this.write(bytes);
  }

  end(trailers: FieldTable | undefined): void {
    if (this.#chunked) writeLastChunk(this, trailers);
    this.#chunked = false;
  }

  /** Writes raw bytes after the bytes written before. */
  write(bytes: Uint8Array): boolean {
    const { length } = bytes;
    if (this.#end > this.#start) {
      const isLast = this.#bytes === slab.bytes && this.#end === slab.used;
      if (length <= joinBytes && isLast && slab.bytes.length - slab.used >= length) {
        this.#end = slab.used = putBytes(slab.bytes, slab.used, bytes, 0, length);
        return true;
      }
      // The chunk's framing is already in the slab, directly behind the waiting bytes.
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

  /** A write at the end of the turn threw, so the connection cannot continue. */
  broke(error: unknown): void {
    reportFailure("connection", error);
    this.#socket.destroy();
  }

  flush(): void {
    if (this.#end === this.#start) return;
    this.#put(this.#bytes.subarray(this.#start, this.#end));
    this.#start = this.#end = 0;
    // Any reference keeps a whole block alive, and connections are idle for a long time.
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

  /** Queues bytes for a slow client. Few pieces wait, and small pieces do not retain a shared block. */
  #putBehind(bytes: Uint8Array): boolean {
    this.#isBackedUp = true;
    this.#pieces += 1;
    this.#took ??= makeContained(
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
