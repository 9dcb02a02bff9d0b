/**
 * Shorter pieces are copied together. As a separate object, each would cost several times its content, and would keep
 * the whole block of its socket in memory.
 */
import { noBytes } from "./no-bytes.ts";

const smallBytes = 4096;
/** Minimum memory of a single waiting piece: the object and its entry in a queue. */
export const leastPieceBytes = 256;
const firstBlockBytes = 1024;
const maxBlockBytes = 64 * 1024;

/**
 * Buffered bytes, in order, until the whole is needed or they can be sent. However small the pieces are, they take
 * little more memory than their length.
 */
export class GatheredBytes {
  /** Total bytes. */
  length = 0;
  #pieces: Buffer[] = [];
  /** Small pieces are copied to this block. Its part [`#start`, `#end`) is not in the list of pieces yet. */
  #block: Buffer = noBytes;
  #start = 0;
  #end = 0;

  /** The caller must not change the bytes afterwards. */
  add(bytes: Buffer): void {
    const { length } = bytes;
    this.length += length;
    if (length >= smallBytes) {
      this.#close();
      this.#pieces.push(bytes);
      return;
    }
    if (this.#block.length - this.#end < length) this.#nextBlock(length);
    this.#end += bytes.copy(this.#block, this.#end);
  }

  /** Removes and returns the first bytes, at most `maxBytes`; empty if there are none. */
  takeFirst(maxBytes: number): Buffer {
    if (this.#pieces.length === 0) this.#close();
    const first = this.#pieces[0];
    if (first === undefined) return noBytes;
    const isWhole = first.length <= maxBytes;
    if (isWhole) this.#pieces.shift();
    else this.#pieces[0] = first.subarray(maxBytes);
    const taken = isWhole ? first : first.subarray(0, maxBytes);
    this.length -= taken.length;
    if (this.length === 0) this.clear();
    return taken;
  }

  /** Removes and returns all bytes, in pieces. */
  take(): readonly Buffer[] {
    this.#close();
    const pieces = this.#pieces;
    this.clear();
    return pieces;
  }

  /** Returns all bytes in one buffer, without removing them. */
  join(): Buffer {
    this.#close();
    if (this.#pieces.length !== 1) {
      const whole = Buffer.concat(this.#pieces, this.length);
      this.clear();
      if (whole.length === 0) return whole;
      this.#pieces = [whole];
      this.length = whole.length;
    }
    return this.#pieces[0] as Buffer;
  }

  clear(): void {
    this.length = 0;
    this.#pieces = [];
    this.#block = noBytes;
    this.#start = this.#end = 0;
  }

  #close(): void {
    if (this.#end === this.#start) return;
    this.#pieces.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  #nextBlock(length: number): void {
    this.#close();
    const size = Math.min(maxBlockBytes, Math.max(firstBlockBytes, this.#block.length * 2));
    this.#block = Buffer.allocUnsafeSlow(Math.max(size, length));
    this.#start = this.#end = 0;
  }
}
