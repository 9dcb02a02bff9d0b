/**
 * Texts of very many objects, by permanent numbers, in a few large buffers, which the garbage collector does not scan.
 */

/** Small enough that the free part of the last page is negligible beside thousands of texts. */
const pageBits = 16;
const pageBytes = 1 << pageBits;
/** Factor by which the table grows when it is full. */
const growth = 1.2;
/** Maximum UTF-8 bytes for one unit of a JavaScript string. */
const maxBytesOfUnit = 3;
/** For longer texts, the exact number of bytes is computed. */
const shortText = 1_000;
/** Maximum number of pages that a place can address: 4 GiB. */
const maxPages = 2 ** (32 - pageBits);

interface TextPage {
  readonly bytes: Buffer;
  end: number;
  /** Bytes of texts that still exist. */
  live: number;
}

export class PackedTexts {
  /** By number. An empty page is removed. */
  readonly #pages: (TextPage | undefined)[] = [];
  /** The page for new texts. */
  #last: TextPage | undefined;
  #lastAt = 0;
  /** Page and position of each text in one number. A text longer than a page has a separate page. */
  #placeOf = new Uint32Array(64);
  #lengthOf = new Uint32Array(64);

  /** Stores a text, which must not be empty, under a free number, such as the next one. */
  put(number: number, text: string): void {
    if (number >= this.#placeOf.length) this.#grow(number);
    const page = this.#pageFor(text.length > shortText ? Buffer.byteLength(text) : text.length * maxBytesOfUnit);
    this.#place(number, page, page.bytes.utf8Write(text, page.end));
  }

  /** Same as `put`, for a text in UTF-8 bytes from `start` to `end`. */
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

  /** Copies the text's bytes to `to`, which must have room. Returns the end position. */
  copy(number: number, to: Buffer, at: number): number {
    const start = this.#startOf(number);
    return at + this.#page(number).bytes.copy(to, at, start, start + this.lengthOf(number));
  }

  /** Whether the text begins with this ASCII text. */
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

  /**
   * Moves the remaining texts of a page to the last one. Otherwise frequent changes would waste more memory than the
   * texts use.
   */
  #clear(at: number, page: TextPage): void {
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
  #place(number: number, page: TextPage, length: number): void {
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

  #page(number: number): TextPage {
    const page = this.#pages[this.#pageOf(number)];
    if (!page) throw new Error(`read text ${number}: there is none`);
    return page;
  }

  /** Returns the last page, or a new one if it has no room. */
  #pageFor(bytes: number): TextPage {
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
    this.#placeOf = growTable(this.#placeOf, size);
    this.#lengthOf = growTable(this.#lengthOf, size);
  }
}

function growTable(from: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size);
  to.set(from);
  return to;
}
