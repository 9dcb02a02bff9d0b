/**
 * Gathers the output of an event-loop turn into one write. Frame headers and small payloads are copied into a pooled
 * block. Larger payloads are passed by reference.
 */
import type { Socket } from "node:net";
import { guardListener } from "../../lib/boundary.ts";
import { leastPieceBytes } from "../../lib/gathered-bytes.ts";
import { flagFin, frameType, headerLength, maxPayload, writeHeader, writeUint32 } from "./frame.ts";

/** Maximum size of copied payloads. Below it, a copy costs less than another part of a vectored write. */
export const maxCopied = 4096;

/** Number of bytes waiting in the socket from which streams pause. */
const jammedAt = 512 * 1024;

/** Limit for control frames, which may exceed `jammedAt` because their causes are limited. */
const floodedAt = 4 * 1024 * 1024;

const slabLength = 64 * 1024;
const maxPooledSlabs = 64;
const pool: Buffer[] = [];

export class Outbox {
  readonly #socket: Socket;
  readonly #written: () => void;
  #slab: Buffer | undefined;
  /** Full blocks that the socket may still read. */
  readonly #spent: Buffer[] = [];
  /** Start of the part of the block that the socket does not have yet. */
  #from = 0;
  #at = 0;
  #corked = false;
  /** Number of pieces given to the socket since it was last empty. */
  #pieces = 0;
  #wrote = false;
  /** The last DATA frame, while it can still be extended in place. */
  #tailId = 0;
  #tailAt = 0;
  #tailLength = 0;

  /** @param written called when the socket has finished a write */
  constructor(socket: Socket, written: () => void) {
    this.#socket = socket;
    this.#written = guardListener(socket, () => {
      if (this.#socket.writableLength === 0) {
        this.#pieces = 0;
        if (this.#at === this.#from) this.#release();
      }
      written();
    });
  }

  /** Whether so much data waits for the peer that streams should pause. */
  get jammed(): boolean {
    return this.#waiting >= jammedAt;
  }

  get flooded(): boolean {
    return this.#waiting >= floodedAt;
  }

  /** Bytes that wait for the peer. Each piece counts with a minimum size. */
  get #waiting(): number {
    return Math.max(this.#socket.writableLength, this.#pieces * leastPieceBytes);
  }

  /** Writes a frame with a body of 4 bytes: RST or WNDINC. */
  control(type: number, streamId: number, value: number): void {
    const slab = this.#room(headerLength + 4);
    writeHeader(slab, this.#at, 4, type << 4, streamId);
    writeUint32(slab, this.#at + headerLength, value);
    this.#at += headerLength + 4;
    this.#tailId = 0;
  }

  goAway(lastStreamId: number, code: number, text: Buffer): void {
    const slab = this.#room(headerLength + 8 + text.length);
    writeHeader(slab, this.#at, 8 + text.length, frameType.goAway << 4, 0);
    writeUint32(slab, this.#at + headerLength, lastStreamId);
    writeUint32(slab, this.#at + headerLength + 4, code);
    slab.set(text, this.#at + headerLength + 8);
    this.#at += headerLength + 8 + text.length;
    this.#tailId = 0;
  }

  /** Writes a DATA frame's header. Calls of `payload` with `length` bytes must follow. */
  frame(streamId: number, flags: number, length: number): void {
    const slab = this.#room(headerLength);
    writeHeader(slab, this.#at, length, (frameType.data << 4) | flags, streamId);
    this.#at += headerLength;
    this.#tailId = 0;
  }

  /** Writes a part of the current frame's payload. */
  payload(bytes: Uint8Array): void {
    if (bytes.length <= maxCopied) {
      this.#room(bytes.length).set(bytes, this.#at);
      this.#at += bytes.length;
      return;
    }
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
    }
    this.#handOver();
    this.#write(bytes);
  }

  /** Writes a whole frame of at most `maxCopied` bytes. Extends the last frame if it belongs to the same stream. */
  small(streamId: number, flags: number, bytes: Uint8Array): void {
    const slab = this.#data(streamId, flags, bytes.length);
    slab.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  smallLatin1(streamId: number, flags: number, text: string): void {
    const slab = this.#data(streamId, flags, text.length);
    slab.write(text, this.#at, text.length, "latin1");
    this.#at += text.length;
  }

  /** Writes FIN on the last frame if it belongs to the same stream, else on an empty one. */
  fin(streamId: number, flags: number): void {
    if (this.#tailId === streamId) (this.#slab as Buffer)[this.#tailAt + 3]! |= flagFin;
    else this.frame(streamId, flags | flagFin, 0);
    this.#tailId = 0;
  }

  /** Passes everything to the socket. Returns true if there was new data since the last call. */
  send(): boolean {
    this.#handOver();
    if (this.#corked) {
      this.#corked = false;
      this.#socket.uncork();
    }
    const wrote = this.#wrote;
    this.#wrote = false;
    return wrote;
  }

  /** Creates or extends a DATA frame. Leaves `#at` where `length` bytes of payload fit. */
  #data(streamId: number, flags: number, length: number): Buffer {
    if (this.#tailId === streamId && this.#tailLength + length <= maxPayload && this.#at + length <= slabLength) {
      const slab = this.#slab as Buffer;
      this.#tailLength += length;
      slab[this.#tailAt] = this.#tailLength >>> 16;
      slab[this.#tailAt + 1] = this.#tailLength >>> 8;
      slab[this.#tailAt + 2] = this.#tailLength;
      return slab;
    }
    const slab = this.#room(headerLength + length);
    writeHeader(slab, this.#at, length, (frameType.data << 4) | flags, streamId);
    this.#tailId = streamId;
    this.#tailAt = this.#at;
    this.#tailLength = length;
    this.#at += headerLength;
    return slab;
  }

  /** Returns the block with `length` free bytes at `#at`. */
  #room(length: number): Buffer {
    if (this.#slab && this.#at + length <= slabLength) return this.#slab;
    if (this.#slab) {
      if (!this.#corked) {
        this.#corked = true;
        this.#socket.cork();
      }
      this.#handOver();
      this.#spent.push(this.#slab);
    }
    this.#slab = pool.pop() ?? Buffer.allocUnsafeSlow(slabLength);
    this.#from = 0;
    this.#at = 0;
    return this.#slab;
  }

  #handOver(): void {
    this.#tailId = 0;
    if (this.#at === this.#from) return;
    const part = (this.#slab as Buffer).subarray(this.#from, this.#at);
    this.#from = this.#at;
    this.#write(part);
  }

  #write(bytes: Uint8Array): void {
    this.#wrote = true;
    this.#pieces += 1;
    this.#socket.write(bytes, this.#written);
  }

  /** Call when the socket no longer uses the blocks. */
  #release(): void {
    for (let spent = this.#spent.pop(); spent; spent = this.#spent.pop()) returnToPool(spent);
    if (!this.#slab) return;
    returnToPool(this.#slab);
    this.#slab = undefined;
    this.#from = 0;
    this.#at = 0;
  }
}

function returnToPool(slab: Buffer): void {
  if (pool.length < maxPooledSlabs) pool.push(slab);
}
