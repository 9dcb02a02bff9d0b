/** Reads what `ByteWriter` has written. Throws if the bytes end early or refer to an unknown word. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;
  readonly #words: string[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
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
    const start = this.#skip(this.number());
    return this.#bytes.utf8Slice(start, this.#at);
  }

  word(): string {
    const number = this.number();
    if (number === 0) {
      const text = this.text();
      this.#words.push(text);
      return text;
    }
    const known = this.#words[number - 1];
    if (known === undefined) throw new Error(`read a captured request: there is no word ${number}`);
    return known;
  }

  shorts(): Uint16Array {
    const values = new Uint16Array(this.number());
    for (let index = 0; index < values.length; index += 1) values[index] = this.byte() | (this.byte() << 8);
    return values;
  }

  bytes(): Buffer {
    const start = this.#skip(this.number());
    return Buffer.from(this.#bytes.subarray(start, this.#at));
  }

  /** Returns the previous position. */
  #skip(count: number): number {
    const start = this.#at;
    if (start + count > this.#bytes.length) throw new Error("read a captured request: its bytes end early");
    this.#at = start + count;
    return start;
  }
}
