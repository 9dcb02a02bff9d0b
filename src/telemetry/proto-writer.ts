/** Writes protobuf messages into a buffer that grows, see https://protobuf.dev/programming-guides/encoding/. */

const firstBytes = 16 * 1024;
/** Given bytes that fill less than this share of their memory are copied. */
const leastShare = 1 / 2;
/** Longer texts are written by Node, shorter ones here, because a call into Node costs as much as 40 characters. */
const shortText = 40;
/** Bytes that the length of a message takes in most cases, if the message has more than a few fields. */
export const longMessage = 2;

/** Types of fields. */
const [varint, fixed32] = [0, 5] as const;
export const [fixed64, lengthDelimited] = [1, 2] as const;

export class ProtoWriter {
  /** Size up to which the memory doubles when it is full. */
  readonly #usualSize: number;
  #bytes: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;
  #spare: ArrayBuffer | undefined;

  constructor(usualSize = Infinity) {
    this.#usualSize = usualSize;
  }

  /** Number of written bytes. */
  get length(): number {
    return this.#length;
  }

  /** Returns the written bytes, which the caller owns, and begins again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(this.#length);
    taken.set(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  /** Like `take`, without a copy if the bytes fill much of their memory, which the caller then owns. */
  give(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes;
    const length = this.#length;
    if (length < leastShare * bytes.length) return this.take();
    this.#bytes = this.#spare === undefined ? Buffer.allocUnsafeSlow(bytes.length) : Buffer.from(this.#spare);
    this.#spare = undefined;
    this.#length = 0;
    return bytes.subarray(0, length);
  }

  /** Takes back memory that was given: new memory costs more than the bytes in it. */
  reuse(memory: ArrayBuffer): void {
    if (memory.byteLength >= this.#bytes.length) this.#spare = memory;
  }

  /** A whole number up to 2^53. */
  number(field: number, value: number): void {
    this.#reserve(16);
    this.#tag(field, varint);
    this.#varint(value);
  }

  boolean(field: number, value: boolean): void {
    this.number(field, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    this.#reserve(16);
    this.#tag(field, fixed64);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  fixed32(field: number, value: number): void {
    this.#reserve(16);
    this.#tag(field, fixed32);
    this.#fixed32(value);
  }

  /** A whole number up to 2^63. Above 2^53, the lowest bits are zero. */
  fixed64(field: number, value: number): void {
    this.#reserve(16);
    this.#tag(field, fixed64);
    this.#fixed64(value);
  }

  /** A time in milliseconds since 1970 as nanoseconds, precise to 256 ns. */
  time(field: number, ms: number): void {
    this.fixed64(field, nanoseconds(ms));
  }

  text(field: number, value: string): void {
    this.#reserve(16 + 3 * value.length);
    this.#tag(field, lengthDelimited);
    const { length } = value;
    if (length > shortText || !this.#ascii(value)) {
      const size = Buffer.byteLength(value);
      this.#varint(size);
      this.#bytes.utf8Write(value, this.#length, size);
      this.#length += size;
    }
  }

  /** @param from position in `source` */
  bytes(field: number, source: Uint8Array, from: number, length: number): void {
    this.#reserve(16 + length);
    this.#tag(field, lengthDelimited);
    this.#varint(length);
    const target = this.#bytes;
    const at = this.#length;
    for (let index = 0; index < length; index += 1) target[at + index] = source[from + index] as number;
    this.#length = at + length;
  }

  /** Bytes given as hexadecimal digits. */
  hex(field: number, digits: string): void {
    const size = digits.length / 2;
    this.#reserve(16 + size);
    this.#tag(field, lengthDelimited);
    this.#varint(size);
    const target = this.#bytes;
    const start = this.#length;
    for (let at = 0; at < size; at += 1) {
      target[start + at] = (hexDigit(digits.charCodeAt(2 * at)) << 4) | hexDigit(digits.charCodeAt(2 * at + 1));
    }
    this.#length = start + size;
  }

  /** Bytes that are encoded already: of a field, or of several fields. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    const target = this.#bytes;
    const at = this.#length;
    if (bytes.length <= shortText) {
      for (let index = 0; index < bytes.length; index += 1) target[at + index] = bytes[index] as number;
    } else target.set(bytes, at);
    this.#length += bytes.length;
  }

  /** Writes what precedes the bytes of a message. */
  lengthOf(field: number, size: number): void {
    this.#reserve(16);
    this.#tag(field, lengthDelimited);
    this.#varint(size);
  }

  /** Returns memory with room for `count` bytes at `length`. Call `wrote` after writing there. */
  room(count: number): Buffer {
    this.#reserve(count);
    return this.#bytes;
  }

  wrote(count: number): void {
    this.#length += count;
  }

  packedFixed64(field: number, values: readonly number[]): void {
    this.#packed(field, values, (value) => this.#fixed64(value));
  }

  packedDoubles(field: number, values: readonly number[]): void {
    this.#packed(field, values, (value) => (this.#length = this.#bytes.writeDoubleLE(value, this.#length)));
  }

  /**
   * Begins a message as a field of the current one. Pass the result to `end`.
   * @param room bytes that its length will probably take: 1, or `longMessage`
   */
  begin(field: number, room = 1): number {
    this.#reserve(16);
    this.#tag(field, lengthDelimited);
    this.#length += room;
    return this.#length;
  }

  /** @param room as it was given to `begin` */
  end(start: number, room = 1): void {
    const size = this.#length - start;
    const needed = size < 0x80 ? 1 : size < 0x4000 ? 2 : size < 0x20_0000 ? 3 : 5;
    if (needed !== room) {
      this.#reserve(8);
      this.#bytes.copyWithin(start - room + needed, start, this.#length);
    }
    this.#length = start - room;
    this.#varint(size);
    this.#length += size;
  }

  #packed(field: number, values: readonly number[], write: (value: number) => void): void {
    this.#reserve(16 + 8 * values.length);
    this.#tag(field, lengthDelimited);
    this.#varint(8 * values.length);
    for (const value of values) write(value);
  }

  /** Returns false, with nothing written, if the text has other characters. */
  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    const at = this.#length + 1;
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[at + index] = code;
    }
    bytes[at - 1] = value.length;
    this.#length = at + value.length;
    return true;
  }

  #tag(field: number, type: number): void {
    this.#varint((field << 3) | type);
  }

  #varint(value: number): void {
    const bytes = this.#bytes;
    let at = this.#length;
    let left = value;
    while (left >= 0x80) {
      bytes[at] = (left % 0x80) | 0x80;
      at += 1;
      left = Math.floor(left / 0x80);
    }
    bytes[at] = left;
    this.#length = at + 1;
  }

  #fixed32(value: number): void {
    putFixed32(this.#bytes, this.#length, value);
    this.#length += 4;
  }

  #fixed64(value: number): void {
    putFixed64(this.#bytes, this.#length, value);
    this.#length += 8;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const doubled = Math.min(2 * this.#bytes.length, this.#usualSize);
    const grown = Buffer.allocUnsafeSlow(Math.max(doubled, this.#length + count));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** @param ms milliseconds since 1970 */
export function nanoseconds(ms: number): number {
  return Math.round(ms * 1e6);
}

function putFixed32(target: Buffer, at: number, value: number): void {
  target[at] = value;
  target[at + 1] = value >>> 8;
  target[at + 2] = value >>> 16;
  target[at + 3] = value >>> 24;
}

export function putFixed64(target: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  putFixed32(target, at, (value - high * 0x1_0000_0000) | 0);
  putFixed32(target, at + 4, high);
}

/** Returns the value of a lower-case hexadecimal digit. */
function hexDigit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
