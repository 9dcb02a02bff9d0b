/** Writes numbers and texts into one growing buffer. Repeated texts are written once, and then referred to by number. */
const firstSize = 16 * 1024;
/** Texts of at most this length have a length of one byte, whatever their characters. */
const shortText = 42;

export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(firstSize);
  #at = 0;
  #words = new Map<string, number>();

  get length(): number {
    return this.#at;
  }

  /** Returns the written bytes and starts anew. The caller owns the bytes. */
  take(): Buffer<ArrayBuffer> {
    // Memory of its own, so that it can be transferred to another thread.
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.#at = 0;
    this.#words = new Map();
    return taken;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  /** A whole number from 0 to 2⁵³. Others are written as the nearest of these. */
  number(value: number): void {
    this.#reserve(8);
    const bytes = this.#bytes;
    let at = this.#at;
    let rest = value > 0 ? Math.min(Math.round(value), Number.MAX_SAFE_INTEGER) : 0;
    while (rest > 0x7f) {
      bytes[at] = (rest % 0x80) | 0x80;
      at += 1;
      rest = Math.floor(rest / 0x80);
    }
    bytes[at] = rest;
    this.#at = at + 1;
  }

  /** A whole number that may be negative. */
  difference(value: number): void {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(text: string): void {
    const { length } = text;
    this.#reserve(3 * length + 8);
    if (length <= shortText) {
      const written = this.#bytes.utf8Write(text, this.#at + 1);
      this.#bytes[this.#at] = written;
      this.#at += written + 1;
      return;
    }
    this.number(Buffer.byteLength(text));
    this.#at += this.#bytes.utf8Write(text, this.#at);
  }

  /** A text that is likely to occur again. */
  word(text: string): void {
    const known = this.#words.get(text);
    if (known !== undefined) {
      this.number(known);
      return;
    }
    this.#words.set(text, this.#words.size + 1);
    this.byte(0);
    this.text(text);
  }

  bytes(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Whole numbers below 65,536, as `ByteReader.shorts` reads them. */
  shorts(count: number, at: (index: number) => number): void {
    this.number(count);
    this.#reserve(2 * count);
    const bytes = this.#bytes;
    for (let index = 0; index < count; index += 1) {
      const value = at(index);
      bytes[this.#at] = value & 0xff;
      bytes[this.#at + 1] = value >> 8;
      this.#at += 2;
    }
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}
