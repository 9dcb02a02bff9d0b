/**
 * Pieces shorter than this are copied together. As an object of its own each would cost several times what is in it, and
 * it would pin the whole block into which its socket was read.
 */
const smallBytes = 4096;
/** What a piece that waits alone takes at least: the object and its place in a queue. */
export const leastPieceBytes = 256;
const firstBlockBytes = 1024;
const maxBlockBytes = 64 * 1024;
const noBytes = Buffer.alloc(0);

/**
 * Bytes that wait, in order, until they are needed whole or can go on. However small the pieces are that they come in,
 * they take little more memory than they are long.
 */
export class GatheredBytes {
  /** Bytes in all. */
  length = 0;
  #pieces: Buffer[] = [];
  /** Small pieces are copied to the block, of which [`#start`, `#end`) is not among the pieces yet. */
  #block: Buffer = noBytes;
  #start = 0;
  #end = 0;

  /** The bytes must not be changed afterwards. */
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

  /** The first bytes, at most `maxBytes`, which are kept no longer; empty when there are none. */
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

  /** All of it in pieces, which are kept no longer. */
  take(): readonly Buffer[] {
    this.#close();
    const pieces = this.#pieces;
    this.clear();
    return pieces;
  }

  /** All of it in one buffer, which is still kept. */
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
