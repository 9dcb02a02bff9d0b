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
    const digest = digestOf(key);
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

/** As much of a key as is made a digest of, four bytes at a time: characters one by one take longer. */
const bytes = Buffer.alloc(4096);
const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);

/** A whole number of 32 bits. */
function digestOf(key: string): number {
  const length = bytes.utf8Write(key, 0, bytes.length - 4);
  // The last word has nothing of another key in it.
  words[length >> 2] = (words[length >> 2] as number) & ((1 << ((length & 3) * 8)) - 1);
  let digest = seed ^ length;
  for (let at = 0; at * 4 < length; at += 1) {
    digest = Math.imul(digest ^ (words[at] as number), 0x5bd1e995);
    digest ^= digest >>> 15;
    digest = Math.imul(digest, multiplier);
    digest ^= digest >>> 13;
  }
  return digest;
}
