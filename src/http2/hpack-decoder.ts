import { fieldFault, headerEntry, kindOf, pseudoOf } from "./header-entry.ts";
import type { HeaderEntry } from "./header-entry.ts";
import type { HeadBuilder } from "./head-builder.ts";
import { DynamicTable, staticTable } from "./hpack-tables.ts";
import { decodeHuffman } from "./huffman.ts";

/** Table size granted to the peer's encoder: the default, which needs no announcement (RFC 9113 §6.5.2). */
const maxTableBytes = 4096;
/** Bytes of a multi-byte integer after the first; more would pass 2^28. */
const maxIntegerBytes = 4;

/**
 * Decodes the header blocks of one connection in order. Every block must be decoded, including those of refused
 * streams, because otherwise the two tables diverge.
 */
export class HpackDecoder {
  readonly #dynamic = new DynamicTable(maxTableBytes);
  /** The current block and its end. */
  #block: Buffer = noBytes;
  #at = 0;
  #end = 0;

  /**
   * Decodes `block[start, end)` into `head`. Returns false if it cannot be decoded, which is a connection error
   * COMPRESSION_ERROR (RFC 7541 §2.3.3). Faults of single fields are recorded in `head`.
   */
  decode(block: Buffer, start: number, end: number, head: HeadBuilder): boolean {
    this.#block = block;
    this.#at = start;
    this.#end = end;
    let fields = 0;
    while (this.#at < this.#end) {
      const first = block[this.#at] as number;
      if ((first & 0x80) !== 0) {
        const entry = this.#entry(this.#integer(7));
        if (entry === undefined) return false;
        head.add(entry);
      } else if ((first & 0xe0) === 0x20) {
        // A table size update is allowed only at the start of a block (RFC 7541 §4.2).
        const size = this.#integer(5);
        if (fields > 0 || size < 0 || size > maxTableBytes) return false;
        this.#dynamic.resize(size);
        continue;
      } else if (!this.#literal((first & 0x40) !== 0, head)) {
        return false;
      }
      fields += 1;
    }
    this.#block = noBytes;
    return true;
  }

  #literal(indexed: boolean, head: HeadBuilder): boolean {
    const index = this.#integer(indexed ? 6 : 4);
    if (index < 0) return false;
    head.makeRoom();
    const { bytes } = head;
    const start = head.used;
    let at: number;
    if (index > 0) {
      const named = this.#entry(index);
      if (named === undefined) return false;
      named.line.copy(bytes, start, 0, named.nameLength);
      at = start + named.nameLength;
    } else {
      at = this.#string(bytes, start);
      if (at < 0) return false;
    }
    const nameEnd = at;
    bytes[at] = 58;
    bytes[at + 1] = 32;
    const valueStart = at + 2;
    const valueEnd = this.#string(bytes, valueStart);
    if (valueEnd < 0) return false;
    bytes[valueEnd] = 13;
    bytes[valueEnd + 1] = 10;
    const end = valueEnd + 2;
    if (indexed) {
      const size = nameEnd - start + valueEnd - valueStart + 32;
      if (size > maxTableBytes) {
        // The field is larger than the table, so it empties the table (RFC 7541 §4.4).
        this.#dynamic.add(tooLargeEntry(size));
      } else {
        const entry = headerEntry(Buffer.from(bytes.subarray(start, end)), nameEnd - start);
        this.#dynamic.add(entry);
        head.add(entry);
        return true;
      }
    }
    const pseudoNumber = pseudoOf(bytes, start, nameEnd);
    const kind = pseudoNumber === 0 ? kindOf(bytes, start, nameEnd) : 0;
    const fault = fieldFault(bytes, start, nameEnd, valueStart, valueEnd, pseudoNumber, kind);
    head.written(nameEnd, valueEnd, pseudoNumber, kind, fault);
    return true;
  }

  #entry(index: number): HeaderEntry | undefined {
    if (index <= 0) return undefined;
    return index <= staticTable.length ? staticTable[index - 1] : this.#dynamic.at(index - 1 - staticTable.length);
  }

  /** RFC 7541 §5.1. Returns -1 if the integer is truncated or too large. */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = (this.#block[this.#at] as number) & mask;
    this.#at += 1;
    if (value < mask) return value;
    for (let count = 0; count < maxIntegerBytes; count += 1) {
      if (this.#at >= this.#end) return -1;
      const byte = this.#block[this.#at] as number;
      this.#at += 1;
      value += (byte & 0x7f) << (7 * count);
      if (byte < 0x80) return value;
    }
    return -1;
  }

  /** RFC 7541 §5.2. Writes the string to `target` at `at`. Returns the end position, or -1. */
  #string(target: Buffer, at: number): number {
    if (this.#at >= this.#end) return -1;
    const huffman = ((this.#block[this.#at] as number) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    if (length < 0 || start + length > this.#end) return -1;
    this.#at += length;
    if (huffman) return decodeHuffman(this.#block, start, start + length, target, at);
    this.#block.copy(target, at, start, start + length);
    return at + length;
  }
}

const noBytes = Buffer.alloc(0);

/** Only the size is used: adding this entry empties the table. */
function tooLargeEntry(size: number): HeaderEntry {
  return { line: noBytes, nameLength: 0, kind: 0, pseudo: 0, value: "", fault: "", size };
}
