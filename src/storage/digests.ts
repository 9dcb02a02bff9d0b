import { randomBytes } from "node:crypto";

/** Chosen anew by each process, so that nobody can make keys that meet. */
const seed = randomBytes(4).readInt32LE();
const multiplier = randomBytes(4).readInt32LE() | 1;
const least = 16;

/**
 * Small numbers by digests of keys, for very many: the keys themselves, which are in the objects anyway, would take more
 * than those. What it finds is to be checked. Two arrays of numbers, so that there is nothing for the collector in it: a key is
 * where its digest leads to, or in the next places behind (linear probing).
 */
export class Digests {
  #digests = new Int32Array(least);
  /** 0 where a place is free, else one more than what is kept there. */
  #values = new Uint32Array(least);
  #count = 0;

  /** @param value at least 0, and below 2^32 - 1 */
  add(key: string, value: number): void {
    this.#count += 1;
    if (this.#count * 2 > this.#values.length) this.#resize(this.#values.length * 2);
    this.#enter(digestOf(key), value + 1);
  }

  /** Takes out what was added once; harmless when it is not there. */
  remove(key: string, value: number): void {
    const values = this.#values;
    const mask = values.length - 1;
    let at = digestOf(key) & mask;
    while (values[at] !== value + 1) {
      if (values[at] === 0) return;
      at = (at + 1) & mask;
    }
    this.#count -= 1;
    this.#close(at);
  }

  /** Those of `key`, and maybe of others. */
  candidates(key: string): number[] {
    const digests = this.#digests;
    const values = this.#values;
    const digest = digestOf(key);
    const mask = values.length - 1;
    const found: number[] = [];
    for (let at = digest & mask; values[at] !== 0; at = (at + 1) & mask) {
      if (digests[at] === digest) found.push((values[at] as number) - 1);
    }
    return found;
  }

  #enter(digest: number, value: number): void {
    const digests = this.#digests;
    const values = this.#values;
    const mask = values.length - 1;
    let at = digest & mask;
    while (values[at] !== 0) at = (at + 1) & mask;
    digests[at] = digest;
    values[at] = value;
  }

  /** Frees a place: what stands behind it because of it moves up, or it would not be found any more. */
  #close(free: number): void {
    const digests = this.#digests;
    const values = this.#values;
    const mask = values.length - 1;
    let gap = free;
    for (let at = (gap + 1) & mask; values[at] !== 0; at = (at + 1) & mask) {
      const home = (digests[at] as number) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      digests[gap] = digests[at] as number;
      values[gap] = values[at] as number;
      gap = at;
    }
    values[gap] = 0;
  }

  #resize(size: number): void {
    const digests = this.#digests;
    const values = this.#values;
    this.#digests = new Int32Array(size);
    this.#values = new Uint32Array(size);
    for (let at = 0; at < values.length; at += 1) {
      if (values[at] !== 0) this.#enter(digests[at] as number, values[at] as number);
    }
  }
}

/** As much of a key as is made a digest of, four bytes at a time: characters one by one take five times as long. */
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
