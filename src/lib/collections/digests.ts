import { randomBytes } from "node:crypto";

/** Random for each process, so that attackers cannot create colliding keys. */
const seed = randomBytes(4).readInt32LE();
const multiplier = randomBytes(4).readInt32LE() | 1;
const least = 16;
/** Maximum share of used places, and the factor by which a table grows beyond it. */
const fullest = 0.8;
const growth = 1.4;
/** Initial size factor for very many entries: the average of a grown table. */
const roomOfMany = 1.5;
/** Marks the first entry of a ring, as opposed to a value. */
const ring = 0x80000000;

/**
 * Maps digests of very many keys to numbers. The keys are stored in the objects anyway, and would take more memory
 * here. Callers must check the results, because digests can collide. All data are in arrays of numbers, which the
 * garbage collector does not scan. A table with linear probing maps a digest to its value, or to the first entry of a
 * ring of values. So a key may have several values. New entries enter the table with the first lookup, so that very
 * many entries build it only once.
 */
export class Digests {
  /** By place: 0 if it is free, otherwise a value or the first entry of a ring, plus one. */
  #table = new Uint32Array(least);
  #digests = new Int32Array(least);
  #taken = 0;
  /** Value of each entry of a ring. */
  #values = new Uint32Array(least);
  #next = new Uint32Array(least);
  #previous = new Uint32Array(least);
  #entries = 0;
  readonly #free: number[] = [];
  /** New entries, in order. */
  #newDigests = new Int32Array(least);
  #newValues = new Uint32Array(least);
  #new = 0;

  /** @param value at least 0, and below 2^31 - 1 */
  add(key: string, value: number): void {
    this.#add(digestOf(key), value);
  }

  /** Same as `add`, for a key in UTF-8 bytes from `start` to `end`. */
  addBytes(key: Uint8Array, start: number, end: number, value: number): void {
    this.#add(digestOfBytes(key, start, end), value);
  }

  #add(digest: number, value: number): void {
    if (this.#new === this.#newValues.length) {
      const before = this.#newDigests;
      this.#newDigests = new Int32Array(this.#new * 2);
      this.#newDigests.set(before);
      this.#newValues = growTable(this.#newValues, this.#new * 2);
    }
    this.#newDigests[this.#new] = digest;
    this.#newValues[this.#new] = value;
    this.#new += 1;
  }

  /** Puts new entries into the table. Otherwise the first lookup would wait for that. */
  settle(): void {
    const count = this.#new;
    if (count === 0) return;
    if (this.#taken + count > this.#table.length * fullest) {
      this.#widen(Math.ceil(Math.max(this.#table.length * growth, (this.#taken + count) * roomOfMany)));
    }
    for (let at = 0; at < count; at += 1) {
      this.#enter(this.#newDigests[at] as number, this.#newValues[at] as number);
    }
    this.#new = 0;
    if (count <= least) return;
    this.#newDigests = new Int32Array(least);
    this.#newValues = new Uint32Array(least);
  }

  #enter(digest: number, value: number): void {
    const place = this.#placeOf(digest);
    const entryAt = this.#table[place] as number;
    if (entryAt === 0) {
      this.#table[place] = value + 1;
      this.#digests[place] = digest;
      this.#taken += 1;
      return;
    }
    const entry = this.#newEntry(value);
    if (entryAt < ring) {
      const only = this.#newEntry(entryAt - 1);
      this.#link(only, entry);
      this.#link(entry, only);
      this.#table[place] = ring + only + 1;
      return;
    }
    const first = entryAt - ring - 1;
    this.#link(this.#previous[first] as number, entry);
    this.#link(entry, first);
  }

  /** Removes an entry that was added once. Does nothing if it does not exist. */
  remove(key: string, value: number): void {
    this.settle();
    const place = this.#placeOf(digestOf(key));
    const entryAt = this.#table[place] as number;
    if (entryAt < ring) {
      if (entryAt !== value + 1) return;
      this.#taken -= 1;
      this.#close(place);
      return;
    }
    const first = entryAt - ring - 1;
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

  /** Returns the values of `key` in the order in which they were added, and possibly values of other keys. */
  candidates(key: string): number[] {
    this.settle();
    const entryAt = this.#table[this.#placeOf(digestOf(key))] as number;
    if (entryAt === 0) return [];
    if (entryAt < ring) return [entryAt - 1];
    const found: number[] = [];
    const first = entryAt - ring - 1;
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

  /** Returns the first place to look for a digest. Tables may have any length. */
  #homeOf(digest: number): number {
    return Math.floor(((digest >>> 0) * this.#table.length) / 2 ** 32);
  }

  /** Returns the place of the digest, or the free place for it. */
  #placeOf(digest: number): number {
    const table = this.#table;
    let at = this.#homeOf(digest);
    while (table[at] !== 0 && this.#digests[at] !== digest) at = at + 1 === table.length ? 0 : at + 1;
    return at;
  }

  /** Frees a place. Later entries that were displaced by it move up, because lookups would not find them any more. */
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

  #widen(size: number): void {
    const [table, digests] = [this.#table, this.#digests];
    this.#table = new Uint32Array(size);
    this.#digests = new Int32Array(size);
    for (let at = 0; at < table.length; at += 1) {
      const entryAt = table[at] as number;
      if (entryAt === 0) continue;
      const digest = digests[at] as number;
      const place = this.#placeOf(digest);
      this.#table[place] = entryAt;
      this.#digests[place] = digest;
    }
  }

  #newEntry(value: number): number {
    const entry = this.#free.pop() ?? this.#entries;
    if (entry === this.#entries) this.#entries += 1;
    if (entry === this.#values.length) {
      const size = entry * 2;
      this.#values = growTable(this.#values, size);
      this.#next = growTable(this.#next, size);
      this.#previous = growTable(this.#previous, size);
    }
    this.#values[entry] = value;
    return entry;
  }
}

/** Returns a copy with room for more entries. */
function growTable(from: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size);
  to.set(from);
  return to;
}

/** Maximum bytes of a key that are hashed. */
const mostBytes = 4092;
const scratch = Buffer.alloc(mostBytes);

/** Returns a 32-bit integer. */
function digestOf(key: string): number {
  return digestOfBytes(scratch, 0, scratch.utf8Write(key, 0, mostBytes));
}

function digestOfBytes(bytes: Uint8Array, start: number, given: number): number {
  let end = given;
  if (end - start > mostBytes) {
    end = start + mostBytes;
    // Cuts a long text at the boundary of a character.
    while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  }
  let digest = seed ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) digest = mixWord(digest, wordAt(bytes, at));
  // Masks the bytes of the last word that are beyond the end.
  if (at < end) digest = mixWord(digest, wordAt(bytes, at) & ((1 << ((end - at) * 8)) - 1));
  return digest;
}

function mixWord(digest: number, word: number): number {
  let mix = Math.imul(digest ^ word, 0x5bd1e995);
  mix ^= mix >>> 15;
  mix = Math.imul(mix, multiplier);
  return mix ^ (mix >>> 13);
}

/** Returns a word of four bytes. Bytes beyond the end, which are undefined, count as 0. */
function wordAt(bytes: Uint8Array, at: number): number {
  const byte = (next: number): number => bytes[at + next] as number;
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}
