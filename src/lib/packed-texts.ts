/** Texts of very many objects, by numbers that stay: in a few large buffers, where the collector has nothing to look at. */

const pageBytes = 1 << 20;
/** Of UTF-8, for what is one in a string of JavaScript. */
const maxBytesOfUnit = 3;

interface Page {
  readonly bytes: Buffer;
  end: number;
  /** Of the texts that are not gone. */
  live: number;
}

export class PackedTexts {
  /** By number; a page that nothing is left in is gone. */
  readonly #pages: (Page | undefined)[] = [];
  /** Where texts are added. */
  #last: Page | undefined;
  #lastAt = 0;
  #pageOf = new Uint32Array(64);
  #startOf = new Uint32Array(64);
  #lengthOf = new Uint32Array(64);

  /** Keeps a text, which is not empty, under a number that is free, such as the next one. */
  put(number: number, text: string): void {
    if (number >= this.#pageOf.length) this.#grow(number);
    const page = this.#pageFor(text.length * maxBytesOfUnit);
    this.#place(number, page, page.bytes.utf8Write(text, page.end));
  }

  /** The same of a text that is bytes of UTF-8 already: those from `start` to `end`. */
  putBytes(number: number, from: Buffer, start: number, end: number): void {
    if (number >= this.#pageOf.length) this.#grow(number);
    const page = this.#pageFor(end - start);
    this.#place(number, page, from.copy(page.bytes, page.end, start, end));
  }

  read(number: number): string {
    const start = this.#startOf[number] as number;
    return this.#page(number).bytes.utf8Slice(start, start + (this.#lengthOf[number] as number));
  }

  /** Bytes of the text. */
  lengthOf(number: number): number {
    return this.#lengthOf[number] as number;
  }

  /** Writes the text's bytes, which have room there. Returns where they end. */
  copy(number: number, to: Buffer, at: number): number {
    const start = this.#startOf[number] as number;
    return at + this.#page(number).bytes.copy(to, at, start, start + this.lengthOf(number));
  }

  /** Whether the text begins with this one, which is of ASCII. */
  begins(number: number, text: string): boolean {
    const { bytes } = this.#page(number);
    const start = this.#startOf[number] as number;
    if (text.length > (this.#lengthOf[number] as number)) return false;
    for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text.charCodeAt(at)) return false;
    return true;
  }

  /** Frees the number. */
  drop(number: number): void {
    const page = this.#page(number);
    page.live -= this.#lengthOf[number] as number;
    this.#lengthOf[number] = 0;
    if (page !== this.#last && page.live * 2 < page.end) this.#clear(this.#pageOf[number] as number, page);
  }

  /** Moves what is left of a page to the last one: what is changed often would else leave more behind than there is. */
  #clear(at: number, page: Page): void {
    this.#pages[at] = undefined;
    if (page.live === 0) return;
    for (let number = 0; number < this.#pageOf.length; number += 1) {
      const length = this.#lengthOf[number] as number;
      if (this.#pageOf[number] !== at || length === 0) continue;
      const from = this.#startOf[number] as number;
      const to = this.#pageFor(length);
      page.bytes.copy(to.bytes, to.end, from, from + length);
      this.#place(number, to, length);
    }
  }

  /** The bytes are at the end of the last page. */
  #place(number: number, page: Page, length: number): void {
    this.#pageOf[number] = this.#lastAt;
    this.#startOf[number] = page.end;
    this.#lengthOf[number] = length;
    page.end += length;
    page.live += length;
  }

  #page(number: number): Page {
    const page = this.#pages[this.#pageOf[number] as number];
    if (!page) throw new Error(`read text ${number}: there is none`);
    return page;
  }

  /** The last one, or a new one where that has no room. */
  #pageFor(bytes: number): Page {
    let page = this.#last;
    if (!page || page.bytes.length - page.end < bytes) {
      page = { bytes: Buffer.allocUnsafeSlow(Math.max(pageBytes, bytes)), end: 0, live: 0 };
      const free = this.#pages.indexOf(undefined);
      this.#lastAt = free < 0 ? this.#pages.length : free;
      this.#pages[this.#lastAt] = page;
      this.#last = page;
    }
    return page;
  }

  #grow(number: number): void {
    const size = Math.max(number + 1, this.#pageOf.length * 2);
    const grown = (from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(size);
      to.set(from);
      return to;
    };
    this.#pageOf = grown(this.#pageOf);
    this.#startOf = grown(this.#startOf);
    this.#lengthOf = grown(this.#lengthOf);
  }
}
