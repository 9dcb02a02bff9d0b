import type { TLSSocket } from "node:tls";
import type { FieldTable } from "../../http1/field-table.ts";
import { putBytes, reserveSlab, slab } from "../../http1/slab.ts";
import { maxEncodedSize, encodeFields, encodeStatus, fieldStart } from "../../http2/hpack-encoder.ts";
import { reportFailure } from "../../lib/boundary.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import {
  flag,
  frameHeaderBytes,
  frameType,
  maxFrameBytes,
  putFrameHeader,
  putUint32,
} from "../../http2/http2-frames.ts";
import { noBytes } from "../../lib/no-bytes.ts";

/** Memory reserved for the frames of one turn, bytes. It grows as needed, and the unused part is released. */
const regionBytes = 4096;
/** Maximum size of a body that is copied behind its frame header, bytes. Larger bodies are sent by reference. */
const copyBytes = 4096;
/** Number of bytes in the socket at which the stream set stops sending. */
const highWaterBytes = 128 * 1024;

/** The request id field, up to its value. */
const beforeId = fieldStart("x-request-id", trafficIdLength);

/** Writes frames. All frames of one event loop turn are one write. */
export class Http2Output implements TurnTask {
  readonly #socket: TLSSocket;
  /** Frames are written at `#end` of `#bytes`, up to `#limit`. Frames from `#start` on are not yet in `#pieces`. */
  #bytes: Buffer = noBytes;
  #start = 0;
  #end = 0;
  #limit = 0;
  #pieces: Buffer[] = [];
  #pending = 0;
  #isWaiting = false;
  /** Position of the last DATA frame's flags, while END_STREAM can still be added. */
  #lastFlags = -1;
  #lastStream = 0;
  /**
   * Whether the peer announced a smaller table. The next block then announces that no table is used (RFC 7541 §4.2).
   */
  tableShrunk = false;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
  }

  /** Whether senders should wait until the socket drains. */
  get isFull(): boolean {
    return this.#pending + this.#socket.writableLength >= highWaterBytes;
  }

  /** Writes a frame with a short payload, which is copied. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.#room(frameHeaderBytes + payload.length);
    const at = putFrameHeader(this.#bytes, this.#end, payload.length, type, flags, streamId);
    this.#end = putBytes(this.#bytes, at, payload, 0, payload.length);
  }

  /** Writes a RST_STREAM or WINDOW_UPDATE frame, whose payload is one number. */
  number(type: number, streamId: number, value: number): void {
    this.#room(frameHeaderBytes + 4);
    const at = putFrameHeader(this.#bytes, this.#end, 4, type, 0, streamId);
    this.#end = putUint32(this.#bytes, at, value);
  }

  /** Writes a header block. A response has `status`, trailers do not. */
  head(
    streamId: number,
    status: number,
    fields: FieldTable | undefined,
    requestId: TrafficId | undefined,
    endStream: boolean,
  ): void {
    const bound = 96 + trafficIdLength + (fields === undefined ? 0 : maxEncodedSize(fields));
    this.#room(frameHeaderBytes + bound);
    const blockStart = this.#end + frameHeaderBytes;
    let at = blockStart;
    if (this.tableShrunk) {
      this.tableShrunk = false;
      this.#bytes[at] = 0x20;
      at += 1;
    }
    if (status > 0) at = encodeStatus(this.#bytes, at, status);
    if (fields !== undefined) at = encodeFields(this.#bytes, at, fields);
    if (requestId !== undefined)
      at = requestId.write(this.#bytes, putBytes(this.#bytes, at, beforeId, 0, beforeId.length));
    const flags = endStream ? flag.endStream : 0;
    const length = at - blockStart;
    if (length <= maxFrameBytes) {
      putFrameHeader(this.#bytes, this.#end, length, frameType.headers, flags | flag.endHeaders, streamId);
      this.#end = at;
      return;
    }
    // Too long for one frame: CONTINUATION frames follow directly.
    const block = Buffer.from(this.#bytes.subarray(blockStart, at));
    for (let from = 0; from < length; from += maxFrameBytes) {
      const part = block.subarray(from, from + maxFrameBytes);
      const last = from + maxFrameBytes >= length ? flag.endHeaders : 0;
      if (from === 0) this.frame(frameType.headers, flags | last, streamId, part);
      else this.frame(frameType.continuation, last, streamId, part);
    }
  }

  /** Writes a DATA frame of at most `maxFrameBytes`. */
  data(streamId: number, bytes: Buffer, endStream: boolean): void {
    const { length } = bytes;
    const copied = length <= copyBytes;
    this.#room(frameHeaderBytes + (copied ? length : 0));
    const flags = this.#end + 4;
    const at = putFrameHeader(this.#bytes, this.#end, length, frameType.data, endStream ? flag.endStream : 0, streamId);
    this.#end = at;
    this.#lastFlags = flags;
    this.#lastStream = streamId;
    if (copied) {
      this.#end = putBytes(this.#bytes, at, bytes, 0, length);
      return;
    }
    this.#cut();
    this.#pieces.push(bytes);
    this.#pending += length;
  }

  /** Ends a stream in its last DATA frame if that was not sent yet, otherwise with an empty frame. */
  endStream(streamId: number): void {
    if (this.#lastFlags >= 0 && this.#lastStream === streamId) this.#bytes[this.#lastFlags] = flag.endStream;
    else this.data(streamId, noBytes, true);
    this.#lastFlags = -1;
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
    this.#cut();
    if (this.#limit > 0 && this.#bytes === slab.bytes && this.#limit === slab.used) slab.used = this.#end;
    // Any reference keeps a whole block alive, and connections are idle for a long time.
    this.#bytes = noBytes;
    this.#start = this.#end = this.#limit = 0;
    this.#lastFlags = -1;
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    this.#pending = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (pieces.length === 1) {
      socket.write(pieces[0] as Buffer);
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }

  /** Turns the bytes written so far into a piece. */
  #cut(): void {
    if (this.#end === this.#start) return;
    this.#pieces.push(this.#bytes.subarray(this.#start, this.#end));
    this.#pending += this.#end - this.#start;
    this.#start = this.#end;
  }

  #room(size: number): void {
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      putOff(this, phase.sockets);
    }
    if (this.#limit - this.#end >= size) return;
    this.#cut();
    this.#lastFlags = -1;
    const region = Math.max(regionBytes, size);
    reserveSlab(region);
    this.#bytes = slab.bytes;
    this.#start = this.#end = slab.used;
    this.#limit = slab.used = slab.used + region;
  }
}
