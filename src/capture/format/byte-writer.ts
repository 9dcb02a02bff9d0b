/** Writes numbers, texts and bytes into one growing buffer. Parts are written once, and then referred to by number. */
const firstSize = 16 * 1024;
/** Texts of at most this length have a length of one byte, whatever their characters. */
const shortText = 42;
/** Longer runs are compared by the system. */
const shortRun = 64;

/** A text that many records share. It belongs to one writer. */
export class TextPart {
  readonly text: string;
  /** The `generation` of the writer in which the part has its number. */
  generation = -1;
  number = 0;

  constructor(text: string) {
    this.text = text;
  }
}

export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(firstSize);
  #at = 0;
  #parts = 0;
  #generation = 0;

  get length(): number {
    return this.#at;
  }

  /** Grows with each `take`. Positions and numbers of parts are valid in one generation. */
  get generation(): number {
    return this.#generation;
  }

  /** Returns the written bytes and starts anew. The caller owns the bytes. */
  take(): Buffer<ArrayBuffer> {
    // Memory of its own, so that it can be transferred to another thread.
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.#at = 0;
    this.#parts = 0;
    this.#generation += 1;
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
    while (rest > 0x7fff_ffff) {
      bytes[at] = (rest % 0x80) | 0x80;
      at += 1;
      rest = Math.floor(rest / 0x80);
    }
    // Operations on small integers are much cheaper, and most numbers are small.
    let small = rest | 0;
    while (small > 0x7f) {
      bytes[at] = (small & 0x7f) | 0x80;
      at += 1;
      small >>= 7;
    }
    bytes[at] = small;
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

  part(part: TextPart): void {
    if (part.generation === this.#generation) {
      this.number(part.number);
      return;
    }
    part.generation = this.#generation;
    part.number = this.#parts += 1;
    this.byte(0);
    this.text(part.text);
  }

  /** A text of at most 127 bytes that `source` writes. */
  written(source: { write(target: Buffer, at: number): number }): void {
    this.#reserve(0x80);
    const end = source.write(this.#bytes, this.#at + 1);
    this.#bytes[this.#at] = end - this.#at - 1;
    this.#at = end;
  }

  /** The bytes from `start` to `end`, with their length. Returns the position of the first one. */
  piece(from: Buffer, start: number, end: number): number {
    this.number(end - start);
    const at = this.#at;
    this.copy(from, start, end);
    return at;
  }

  /** The bytes from `start` to `end` as they are. */
  copy(from: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    from.copy(this.#bytes, this.#at, start, end);
    this.#at += end - start;
  }

  /** Whether the bytes from `start` to `end` are the ones that were written at `at`. */
  equals(at: number, from: Buffer, start: number, end: number): boolean {
    const bytes = this.#bytes;
    if (end - start > shortRun) return bytes.compare(from, start, end, at, at + end - start) === 0;
    for (let next = start, mine = at; next < end; next += 1, mine += 1) if (from[next] !== bytes[mine]) return false;
    return true;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}
