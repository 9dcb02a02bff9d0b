import { FieldTable } from "../http1/field-table.ts";
import { equalsText } from "../http1/bytes.ts";
import { known } from "../http1/known-fields.ts";
import { putBytes, putLatin1, reserveSlab, slab } from "../http1/slab.ts";
import type { HeaderEntry } from "./header-entry.ts";

/** Integers per field: start and end of its name, end of its value, kind. */
const intsPerField = 4;
/** Bits of a field's kind that hold its number in `known`. */
const knownMask = 0xff;
/** Longest Content-Length: digits that always fit a safe integer. */
const maxLengthDigits = 15;
/** Maximum decoded size of a block: 8/5 of its bytes, once as name and once as value. */
const literalRoom = 2 * 110 * 1024;

/**
 * Collects the fields of one header block as HTTP/1.1 lines, and its pseudo-fields as text. One builder serves all
 * connections, because each block is decoded in one synchronous call.
 */
export class HeadBuilder {
  /** Lines so far. A literal field is decoded directly after them. */
  bytes: Buffer = Buffer.allocUnsafeSlow(0);
  used = 0;
  /** The first fault of the message; "" if it is well-formed so far. */
  fault = "";
  /** The head exceeds the limits (431). Further fields are decoded and dropped. */
  tooLarge = false;
  /** Pseudo-fields by number; undefined if absent. */
  readonly pseudo: (string | undefined)[] = [];
  /** Whether there was a pseudo-field. */
  hasPseudo = false;
  #fields = new Int32Array(0);
  #count = 0;
  #cookies = 0;
  /** Whether there was a regular field, even one that was dropped. */
  #passed = false;
  #listBytes = 0;
  #maxListBytes = 0;
  #maxFields = 0;

  start(maxListBytes: number, maxFields: number): void {
    if (this.bytes.length < maxListBytes + literalRoom) this.bytes = Buffer.allocUnsafeSlow(maxListBytes + literalRoom);
    if (this.#fields.length < maxFields * intsPerField) this.#fields = new Int32Array(maxFields * intsPerField);
    this.used = 0;
    this.fault = "";
    this.tooLarge = false;
    this.pseudo.fill(undefined);
    this.hasPseudo = false;
    this.#count = 0;
    this.#cookies = 0;
    this.#passed = false;
    this.#listBytes = 0;
    this.#maxListBytes = maxListBytes;
    this.#maxFields = maxFields;
  }

  /** Call before a literal field is written. After the head became too large, fields overwrite one another. */
  makeRoom(): void {
    if (this.tooLarge) this.used = 0;
  }

  /** Adds a field from one of the tables. */
  add(entry: HeaderEntry): void {
    if (entry.pseudo !== 0) {
      this.#weigh(entry.size);
      this.#addPseudo(entry.pseudo, entry.value);
    } else if (this.#admits(entry.size)) {
      const start = this.used;
      entry.line.copy(this.bytes, start);
      this.#push(start, start + entry.nameLength, start + entry.line.length - 2, entry.kind);
    }
    if (entry.fault !== "" && this.fault === "") this.fault = entry.fault;
  }

  /** Adds a literal field whose line was written at `used`. */
  written(nameEnd: number, valueEnd: number, pseudoNumber: number, kind: number, fault: string): void {
    const start = this.used;
    const size = valueEnd - start - 2 + 32;
    if (pseudoNumber !== 0) {
      this.#weigh(size);
      this.#addPseudo(pseudoNumber, this.bytes.toString("latin1", nameEnd + 2, valueEnd));
    } else if (this.#admits(size)) {
      this.#push(start, nameEnd, valueEnd, kind);
    }
    if (fault !== "" && this.fault === "") this.fault = fault;
  }

  /**
   * Returns the fields in memory of their own, preceded by a Host field with `authority`, which replaces any Host that
   * the client sent (RFC 9113 §8.3.1). "" adds none. Returns undefined if Content-Length is invalid, with the reason in
   * `fault`.
   */
  build(authority: string): FieldTable | undefined {
    const host = authority === "" ? "" : `host: ${authority}\r\n`;
    const cookie = this.#cookies > 1 ? this.#joinedCookies() : "";
    reserveSlab(host.length + this.used + cookie.length);
    const { bytes } = slab;
    const table = new FieldTable(bytes, this.#count + 2);
    const base = putLatin1(bytes, slab.used, host);
    if (host !== "") {
      table.push(slab.used, slab.used + 4, slab.used + 6, base - 2, known.host);
      table.hostCount = 1;
      table.hostIndex = 0;
    }
    let end = putBytes(bytes, base, this.bytes, 0, this.used);
    for (let field = 0; field < this.#count * intsPerField; field += intsPerField) {
      const nameStart = base + (this.#fields[field] as number);
      const nameEnd = base + (this.#fields[field + 1] as number);
      const valueEnd = base + (this.#fields[field + 2] as number);
      const kind = this.#fields[field + 3] as number;
      const id = kind & knownMask;
      if (id === known.host) {
        table.hasGaps = true;
        continue;
      }
      if (id === known["content-length"]) this.#noteLength(table, nameEnd + 2, valueEnd);
      else if (id === known.expect) table.expectIndex = table.count;
      else if (this.#cookies > 1 && isCookie(bytes, nameStart, nameEnd)) {
        table.hasGaps = true;
        continue;
      }
      table.push(nameStart, nameEnd, nameEnd + 2, valueEnd, kind);
    }
    if (cookie !== "") {
      const start = end;
      end = putLatin1(bytes, end, cookie);
      table.push(start, start + 6, start + 8, end - 2, 0);
    }
    table.seal();
    slab.used = end;
    return this.fault === "" ? table : undefined;
  }

  /** The Host field's value; undefined without one, "" if there are several. */
  hostField(): string | undefined {
    let value: string | undefined;
    for (let field = 0; field < this.#count * intsPerField; field += intsPerField) {
      if (((this.#fields[field + 3] as number) & knownMask) !== known.host) continue;
      const nameEnd = this.#fields[field + 1] as number;
      value = value === undefined ? this.bytes.toString("latin1", nameEnd + 2, this.#fields[field + 2]) : "";
    }
    return value;
  }

  #noteLength(table: FieldTable, start: number, end: number): void {
    let length = 0;
    for (let at = start; at < end; at += 1) {
      const digit = (table.bytes[at] as number) - 48;
      if (digit < 0 || digit > 9) length = NaN;
      length = length * 10 + digit;
    }
    if (table.contentLength >= 0 || start === end || end - start > maxLengthDigits || Number.isNaN(length)) {
      this.fault = "invalid or repeated Content-Length";
    } else {
      table.contentLength = length;
    }
  }

  #addPseudo(number: number, value: string): void {
    this.hasPseudo = true;
    if (this.fault !== "") return;
    // RFC 9113 §8.3: pseudo-fields precede fields and occur once.
    if (this.#passed) this.fault = "pseudo-field behind a field";
    else if (this.pseudo[number] !== undefined) this.fault = "repeated pseudo-field";
    else this.pseudo[number] = value;
  }

  #weigh(size: number): void {
    this.#listBytes += size;
    if (this.#listBytes > this.#maxListBytes) this.tooLarge = true;
  }

  #admits(size: number): boolean {
    this.#passed = true;
    this.#weigh(size);
    if (this.#count === this.#maxFields) this.tooLarge = true;
    return !this.tooLarge;
  }

  #push(nameStart: number, nameEnd: number, valueEnd: number, kind: number): void {
    const at = this.#count * intsPerField;
    this.#fields[at] = nameStart;
    this.#fields[at + 1] = nameEnd;
    this.#fields[at + 2] = valueEnd;
    this.#fields[at + 3] = kind;
    this.#count += 1;
    this.used = valueEnd + 2;
    if (isCookie(this.bytes, nameStart, nameEnd)) this.#cookies += 1;
  }

  /** HTTP/1.1 has one Cookie field; HTTP/2 may split it (RFC 9113 §8.2.3). */
  #joinedCookies(): string {
    const crumbs: string[] = [];
    for (let field = 0; field < this.#count * intsPerField; field += intsPerField) {
      const nameEnd = this.#fields[field + 1] as number;
      if (!isCookie(this.bytes, this.#fields[field] as number, nameEnd)) continue;
      crumbs.push(this.bytes.toString("latin1", nameEnd + 2, this.#fields[field + 2]));
    }
    return `cookie: ${crumbs.join("; ")}\r\n`;
  }
}

function isCookie(bytes: Buffer, start: number, end: number): boolean {
  return end - start === 6 && equalsText(bytes, start, end, "cookie");
}
