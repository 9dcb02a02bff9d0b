/** Writes protobuf messages into a buffer that grows, see https://protobuf.dev/programming-guides/encoding/. */

const firstBytes = 16 * 1024;
/** Longer texts are written by Node, shorter ones here, because a call into Node costs as much as 40 characters. */
const shortText = 40;
/** Bytes that the length of a message takes in most cases, if the message has more than a few fields. */
export const longMessage = 2;

const [varint, fixed64, lengthDelimited, fixed32] = [0, 1, 2, 5] as const;

export class ProtoWriter {
  #bytes = Buffer.allocUnsafe(firstBytes);
  #length = 0;

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
    this.fixed64(field, Math.round(ms * 1e6));
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
    for (let at = from; at < from + length; at += 1) {
      this.#bytes[this.#length] = source[at] as number;
      this.#length += 1;
    }
  }

  /** Bytes given as hexadecimal digits. */
  hex(field: number, digits: string): void {
    const size = digits.length / 2;
    this.#reserve(16 + size);
    this.#tag(field, lengthDelimited);
    this.#varint(size);
    for (let at = 0; at < digits.length; at += 2) {
      this.#bytes[this.#length] = (hexDigit(digits.charCodeAt(at)) << 4) | hexDigit(digits.charCodeAt(at + 1));
      this.#length += 1;
    }
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

  /** Lets `write` write `count` bytes at a position. */
  write(count: number, write: (target: Buffer, at: number) => void): void {
    this.#reserve(count);
    write(this.#bytes, this.#length);
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
    let left = value;
    while (left >= 0x80) {
      this.#bytes[this.#length] = (left % 0x80) | 0x80;
      this.#length += 1;
      left = Math.floor(left / 0x80);
    }
    this.#bytes[this.#length] = left;
    this.#length += 1;
  }

  #fixed32(value: number): void {
    const bytes = this.#bytes;
    const at = this.#length;
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
    this.#length = at + 4;
  }

  #fixed64(value: number): void {
    const high = Math.floor(value / 0x1_0000_0000);
    this.#fixed32((value - high * 0x1_0000_0000) | 0);
    this.#fixed32(high);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + count));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** Returns the value of a lower-case hexadecimal digit. */
function hexDigit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
