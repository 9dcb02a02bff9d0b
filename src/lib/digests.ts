import { randomBytes } from "node:crypto";

/** Chosen anew by each process, so that nobody can make keys that meet. */
const seed = randomBytes(4).readInt32LE();
const multiplier = randomBytes(4).readInt32LE() | 1;
const least = 16;

/**
 * Numbers by digests of keys, for very many: the keys themselves, which are in the objects anyway, would take more than
 * those. What it finds is to be checked. All of it is arrays of numbers, with nothing for the collector to look at: a
 * table with linear probing leads from a digest to the first of a ring of entries, so that a key may have many.
 */
export class Digests {
  /** By place: 0 where it is free, else one more than an entry. */
  #table = new Uint32Array(least);
  #taken = 0;
  /** Of each entry. */
  #digests = new Int32Array(least);
  #values = new Uint32Array(least);
  #next = new Uint32Array(least);
  #previous = new Uint32Array(least);
  #entries = 0;
  readonly #free: number[] = [];

  /** @param value at least 0, and below 2^32 */
  add(key: string, value: number): void {
    this.#add(digestOf(key), value);
  }

  /** The same with a key that is bytes of UTF-8 already: those from `start` to `end`. */
  addBytes(key: Uint8Array, start: number, end: number, value: number): void {
    this.#add(digestOfBytes(key, start, end), value);
  }

  #add(digest: number, value: number): void {
    const entry = this.#newEntry();
    this.#digests[entry] = digest;
    this.#values[entry] = value;
    const place = this.#placeOf(digest);
    const first = (this.#table[place] as number) - 1;
    if (first < 0) {
      this.#link(entry, entry);
      this.#table[place] = entry + 1;
      this.#taken += 1;
      if (this.#taken * 2 > this.#table.length) this.#widen();
      return;
    }
    const last = this.#previous[first] as number;
    this.#link(last, entry);
    this.#link(entry, first);
  }

  /** Takes out what was added once; harmless when it is not there. */
  remove(key: string, value: number): void {
    const place = this.#placeOf(digestOf(key));
    const first = (this.#table[place] as number) - 1;
    if (first < 0) return;
    let entry = first;
    while (this.#values[entry] !== value) {
      entry = this.#next[entry] as number;
      if (entry === first) return;
    }
    const next = this.#next[entry] as number;
    this.#free.push(entry);
    if (next === entry) {
      this.#taken -= 1;
      this.#close(place);
      return;
    }
    this.#link(this.#previous[entry] as number, next);
    if (entry === first) this.#table[place] = next + 1;
  }

  /** Those of `key` in the order in which they were added, and maybe of others. */
  candidates(key: string): number[] {
    const first = (this.#table[this.#placeOf(digestOf(key))] as number) - 1;
    const found: number[] = [];
    if (first < 0) return found;
    let entry = first;
    do {
      found.push(this.#values[entry] as number);
      entry = this.#next[entry] as number;
    } while (entry !== first);
    return found;
  }

  #link(entry: number, next: number): void {
    this.#next[entry] = next;
    this.#previous[next] = entry;
  }

  /** The one that leads to the digest, or the free one where it would. */
  #placeOf(digest: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    let at = digest & mask;
    while (table[at] !== 0 && this.#digests[(table[at] as number) - 1] !== digest) at = (at + 1) & mask;
    return at;
  }

  /** Frees a place: what stands behind it because of it moves up, or it would not be found any more. */
  #close(place: number): void {
    const table = this.#table;
    const mask = table.length - 1;
    let gap = place;
    for (let at = (gap + 1) & mask; table[at] !== 0; at = (at + 1) & mask) {
      const home = (this.#digests[(table[at] as number) - 1] as number) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      table[gap] = table[at] as number;
      gap = at;
    }
    table[gap] = 0;
  }

  #widen(): void {
    const before = this.#table;
    this.#table = new Uint32Array(before.length * 2);
    for (const entry of before) {
      if (entry !== 0) this.#table[this.#placeOf(this.#digests[entry - 1] as number)] = entry;
    }
  }

  #newEntry(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const entry = this.#entries;
    this.#entries += 1;
    if (entry < this.#values.length) return entry;
    const size = entry * 2;
    const digests = new Int32Array(size);
    digests.set(this.#digests);
    this.#digests = digests;
    this.#values = longer(this.#values, size);
    this.#next = longer(this.#next, size);
    this.#previous = longer(this.#previous, size);
    return entry;
  }
}

function longer(from: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size);
  to.set(from);
  return to;
}

/** Of a key, as much is made a digest of; bytes. */
const mostBytes = 4092;
const scratch = Buffer.alloc(mostBytes);

/** A whole number of 32 bits. */
function digestOf(key: string): number {
  return digestOfBytes(scratch, 0, scratch.utf8Write(key, 0, mostBytes));
}

function digestOfBytes(bytes: Uint8Array, start: number, given: number): number {
  let end = given;
  if (end - start > mostBytes) {
    end = start + mostBytes;
    // As much as is written of a text that is too long: no part of a character.
    while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  }
  let digest = seed ^ (end - start);
  // Four bytes at a time; the last word is what is left.
  for (let at = start; at < end; at += 4) {
    const left = end - at;
    let word = bytes[at] as number;
    if (left > 1) word |= (bytes[at + 1] as number) << 8;
    if (left > 2) word |= (bytes[at + 2] as number) << 16;
    if (left > 3) word |= (bytes[at + 3] as number) << 24;
    digest = Math.imul(digest ^ word, 0x5bd1e995);
    digest ^= digest >>> 15;
    digest = Math.imul(digest, multiplier);
    digest ^= digest >>> 13;
  }
  return digest;
}
