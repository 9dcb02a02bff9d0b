import { randomBytes } from "node:crypto";

/** Chosen anew by each process, so that nobody can make keys that meet. */
const seed = randomBytes(4).readInt32LE();
const multiplier = randomBytes(4).readInt32LE() | 1;
const least = 16;
/** Of the places, those that may be taken; how much longer a table becomes beyond it. */
const fullest = 0.8;
const growth = 1.4;
/** Marks what is the first entry of a ring, and no value. */
const ring = 0x80000000;

/**
 * Numbers by digests of keys, for very many: the keys themselves, which are in the objects anyway, would take more than
 * those. What it finds is to be checked. All of it is arrays of numbers, with nothing for the collector to look at: a
 * table with linear probing leads from a digest to its value, or to the first of a ring of them, so that a key may have many.
 */
export class Digests {
  /** By place: 0 where it is free, else one more than a value, or than the first entry of a ring. */
  #table = new Uint32Array(least);
  #digests = new Int32Array(least);
  #taken = 0;
  /** Of each entry of a ring. */
  #values = new Uint32Array(least);
  #next = new Uint32Array(least);
  #previous = new Uint32Array(least);
  #entries = 0;
  readonly #free: number[] = [];

  /** @param value at least 0, and below 2^31 - 1 */
  add(key: string, value: number): void {
    this.#add(digestOf(key), value);
  }

  /** The same with a key that is bytes of UTF-8 already: those from `start` to `end`. */
  addBytes(key: Uint8Array, start: number, end: number, value: number): void {
    this.#add(digestOfBytes(key, start, end), value);
  }

  #add(digest: number, value: number): void {
    const place = this.#placeOf(digest);
    const there = this.#table[place] as number;
    if (there === 0) {
      this.#table[place] = value + 1;
      this.#digests[place] = digest;
      this.#taken += 1;
      if (this.#taken > this.#table.length * fullest) this.#widen();
      return;
    }
    const entry = this.#newEntry(value);
    if (there < ring) {
      const only = this.#newEntry(there - 1);
      this.#link(only, entry);
      this.#link(entry, only);
      this.#table[place] = ring + only + 1;
      return;
    }
    const first = there - ring - 1;
    this.#link(this.#previous[first] as number, entry);
    this.#link(entry, first);
  }

  /** Takes out what was added once; harmless when it is not there. */
  remove(key: string, value: number): void {
    const place = this.#placeOf(digestOf(key));
    const there = this.#table[place] as number;
    if (there < ring) {
      if (there !== value + 1) return;
      this.#taken -= 1;
      this.#close(place);
      return;
    }
    const first = there - ring - 1;
    let entry = first;
    while (this.#values[entry] !== value) {
      entry = this.#next[entry] as number;
      if (entry === first) return;
    }
    const next = this.#next[entry] as number;
    this.#link(this.#previous[entry] as number, next);
    this.#free.push(entry);
    if (this.#next[next] === next) {
      this.#table[place] = (this.#values[next] as number) + 1;
      this.#free.push(next);
    } else if (entry === first) this.#table[place] = ring + next + 1;
  }

  /** Those of `key` in the order in which they were added, and maybe of others. */
  candidates(key: string): number[] {
    const there = this.#table[this.#placeOf(digestOf(key))] as number;
    if (there === 0) return [];
    if (there < ring) return [there - 1];
    const found: number[] = [];
    const first = there - ring - 1;
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

  /** Where a digest's place is looked for first: the tables are of any length. */
  #homeOf(digest: number): number {
    return Math.floor(((digest >>> 0) * this.#table.length) / 2 ** 32);
  }

  /** The one that leads to the digest, or the free one where it would. */
  #placeOf(digest: number): number {
    const table = this.#table;
    let at = this.#homeOf(digest);
    while (table[at] !== 0 && this.#digests[at] !== digest) at = at + 1 === table.length ? 0 : at + 1;
    return at;
  }

  /** Frees a place: what stands behind it because of it moves up, or it would not be found any more. */
  #close(place: number): void {
    const table = this.#table;
    const size = table.length;
    const behind = (at: number, from: number): number => (at >= from ? at - from : at - from + size);
    let gap = place;
    for (let at = (gap + 1) % size; table[at] !== 0; at = (at + 1) % size) {
      const home = this.#homeOf(this.#digests[at] as number);
      if (behind(at, home) < behind(at, gap)) continue;
      table[gap] = table[at] as number;
      this.#digests[gap] = this.#digests[at] as number;
      gap = at;
    }
    table[gap] = 0;
  }

  #widen(): void {
    const [table, digests] = [this.#table, this.#digests];
    const size = Math.ceil(table.length * growth);
    this.#table = new Uint32Array(size);
    this.#digests = new Int32Array(size);
    for (const [at, there] of table.entries()) {
      if (there === 0) continue;
      const digest = digests[at] as number;
      const place = this.#placeOf(digest);
      this.#table[place] = there;
      this.#digests[place] = digest;
    }
  }

  #newEntry(value: number): number {
    const entry = this.#free.pop() ?? this.#entries;
    if (entry === this.#entries) this.#entries += 1;
    if (entry === this.#values.length) {
      const size = entry * 2;
      this.#values = longer(this.#values, size);
      this.#next = longer(this.#next, size);
      this.#previous = longer(this.#previous, size);
    }
    this.#values[entry] = value;
    return entry;
  }
}

/** The same with room for more. */
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
