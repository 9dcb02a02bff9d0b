/** Reads what `ByteWriter` has written. Throws if the bytes end early. */
export class ByteReader {
  readonly bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.bytes.length;
  }

  get position(): number {
    return this.#at;
  }

  byte(): number {
    const value = this.bytes[this.#at];
    if (value === undefined) throw new Error("read a captured request: its bytes end early");
    this.#at += 1;
    return value;
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte <= 0x7f) return value;
      scale *= 0x80;
    }
  }

  difference(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  text(): string {
    const start = this.piece();
    return this.bytes.utf8Slice(start, this.#at);
  }

  /** Moves behind bytes with their length, and returns the position of the first one. */
  piece(): number {
    const count = this.number();
    const start = this.#at;
    if (start + count > this.bytes.length) throw new Error("read a captured request: its bytes end early");
    this.#at = start + count;
    return start;
  }
}
