/** Texts of very many objects, by numbers that stay: in a few large buffers, where the collector has nothing to look at. */

/** Small enough that what is free of the last one is nothing beside thousands of texts. */
const pageBits = 16;
const pageBytes = 1 << pageBits;
/** How many more texts there is room for when there was none left. */
const growth = 1.2;
/** Of UTF-8, for what is one in a string of JavaScript. */
const maxBytesOfUnit = 3;
/** Of texts that are longer it is looked how many bytes they are. */
const shortText = 1_000;
/** As many as a place can tell of: 4 GiB. */
const maxPages = 2 ** (32 - pageBits);

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
  /** Its page, and where it begins there, in one number: a text that is longer than a page begins one of its own. */
  #placeOf = new Uint32Array(64);
  #lengthOf = new Uint32Array(64);

  /** Keeps a text, which is not empty, under a number that is free, such as the next one. */
  put(number: number, text: string): void {
    if (number >= this.#placeOf.length) this.#grow(number);
    const page = this.#pageFor(text.length > shortText ? Buffer.byteLength(text) : text.length * maxBytesOfUnit);
    this.#place(number, page, page.bytes.utf8Write(text, page.end));
  }

  /** The same of a text that is bytes of UTF-8 already: those from `start` to `end`. */
  putBytes(number: number, from: Buffer, start: number, end: number): void {
    if (number >= this.#placeOf.length) this.#grow(number);
    const page = this.#pageFor(end - start);
    this.#place(number, page, from.copy(page.bytes, page.end, start, end));
  }

  read(number: number): string {
    const start = this.#startOf(number);
    return this.#page(number).bytes.utf8Slice(start, start + (this.#lengthOf[number] as number));
  }

  /** Bytes of the text. */
  lengthOf(number: number): number {
    return this.#lengthOf[number] as number;
  }

  /** Writes the text's bytes, which have room there. Returns where they end. */
  copy(number: number, to: Buffer, at: number): number {
    const start = this.#startOf(number);
    return at + this.#page(number).bytes.copy(to, at, start, start + this.lengthOf(number));
  }

  /** Whether the text begins with this one, which is of ASCII. */
  begins(number: number, text: string): boolean {
    const { bytes } = this.#page(number);
    const start = this.#startOf(number);
    if (text.length > (this.#lengthOf[number] as number)) return false;
    for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text.charCodeAt(at)) return false;
    return true;
  }

  /** Frees the number. */
  drop(number: number): void {
    const page = this.#page(number);
    page.live -= this.#lengthOf[number] as number;
    this.#lengthOf[number] = 0;
    if (page !== this.#last && page.live * 2 < page.end) this.#clear(this.#pageOf(number), page);
  }

  /** Moves what is left of a page to the last one: what is changed often would else leave more behind than there is. */
  #clear(at: number, page: Page): void {
    this.#pages[at] = undefined;
    if (page.live === 0) return;
    for (let number = 0; number < this.#placeOf.length; number += 1) {
      const length = this.#lengthOf[number] as number;
      if (this.#pageOf(number) !== at || length === 0) continue;
      const from = this.#startOf(number);
      const to = this.#pageFor(length);
      page.bytes.copy(to.bytes, to.end, from, from + length);
      this.#place(number, to, length);
    }
  }

  /** The bytes are at the end of the last page. */
  #place(number: number, page: Page, length: number): void {
    this.#placeOf[number] = this.#lastAt * pageBytes + page.end;
    this.#lengthOf[number] = length;
    page.end += length;
    page.live += length;
  }

  #pageOf(number: number): number {
    return (this.#placeOf[number] as number) >>> pageBits;
  }

  #startOf(number: number): number {
    return (this.#placeOf[number] as number) & (pageBytes - 1);
  }

  #page(number: number): Page {
    const page = this.#pages[this.#pageOf(number)];
    if (!page) throw new Error(`read text ${number}: there is none`);
    return page;
  }

  /** The last one, or a new one where that has no room. */
  #pageFor(bytes: number): Page {
    let page = this.#last;
    if (!page || Math.min(page.bytes.length, pageBytes) - page.end < bytes) {
      page = { bytes: Buffer.allocUnsafeSlow(Math.max(pageBytes, bytes)), end: 0, live: 0 };
      const free = this.#pages.indexOf(undefined);
      this.#lastAt = free < 0 ? this.#pages.length : free;
      if (this.#lastAt === maxPages) throw new Error(`keep one more text: there are ${maxPages} pages of them`);
      this.#pages[this.#lastAt] = page;
      this.#last = page;
    }
    return page;
  }

  #grow(number: number): void {
    const size = Math.max(number + 1, Math.ceil(this.#placeOf.length * growth));
    this.#placeOf = longer(this.#placeOf, size);
    this.#lengthOf = longer(this.#lengthOf, size);
  }
}

function longer(from: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size);
  to.set(from);
  return to;
}
