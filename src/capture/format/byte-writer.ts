/** Writes numbers and texts into one growing buffer. Repeated texts are written once, and then referred to by number. */
const firstSize = 16 * 1024;
/** Texts of at most this length have a length of one byte, whatever their characters. */
const shortText = 42;

interface Part {
  readonly text: string;
  /** The words in which it has the number. */
  words: ReadonlyMap<string, number> | undefined;
  number: number;
}

/** Groups of values. */
export interface Shorts {
  readonly base: number;
  readonly count: number;
  /** Values in each group, and how many of them are written. */
  readonly size: number;
  readonly taken: number;
  readonly origin: number;
}

export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(firstSize);
  #at = 0;
  #words = new Map<string, number>();
  /** Numbers of words by the objects that they stand for. */
  readonly #parts = new WeakMap<object, Part>();

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
    // Most numbers are small and whole.
    if (value >= 0 && value < 0x80 && value === (value | 0)) {
      bytes[at] = value;
      this.#at = at + 1;
      return;
    }
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

  /** A word that stands for an object, which is likely to occur again and never changes. */
  part(object: object, textOf: (object: never) => string): void {
    const words = this.#words;
    let known = this.#parts.get(object);
    if (known === undefined)
      this.#parts.set(object, (known = { text: textOf(object as never), words: undefined, number: 0 }));
    if (known.words === words) {
      this.number(known.number);
      return;
    }
    this.word(known.text);
    known.words = words;
    known.number = words.get(known.text) as number;
  }

  bytes(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** The bytes from `start` to `end`. */
  piece(from: Buffer, start: number, end: number): void {
    this.number(end - start);
    this.#reserve(end - start);
    from.copy(this.#bytes, this.#at, start, end);
    this.#at += end - start;
  }

  /**
   * Whole numbers below 65,536, as `ByteReader.shorts` reads them: `taken` of each `size` values, less `origin`.
   * @param base position of the first value
   */
  shorts(values: Int32Array, { base, count, size, taken, origin }: Shorts): void {
    this.number(count * taken);
    this.#reserve(2 * count * taken);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let first = base, last = base + count * size; first < last; first += size) {
      for (let index = first; index < first + taken; index += 1) {
        const value = (values[index] as number) - origin;
        bytes[at] = value & 0xff;
        bytes[at + 1] = value >> 8;
        at += 2;
      }
    }
    this.#at = at;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}
