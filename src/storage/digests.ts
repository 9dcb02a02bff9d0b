import { randomBytes } from "node:crypto";

/** Chosen anew by each process, so that nobody can make keys that meet. */
const seed = randomBytes(4).readInt32LE();
const multiplier = 0x5bd1e995;

/**
 * Ids by digests of keys, for very many: the keys themselves, which are in the objects anyway, would take more than those.
 * What it finds is to be checked.
 */
export class Digests {
  readonly #ids = new Map<number, string | string[]>();

  add(key: string, id: string): void {
    const digest = digestOf(key);
    const ids = this.#ids.get(digest);
    if (ids === undefined) this.#ids.set(digest, id);
    else if (typeof ids !== "string") ids.push(id);
    else this.#ids.set(digest, [ids, id]);
  }

  /** Takes out what was added once. */
  remove(key: string, id: string): void {
    const digest = digestOf(key);
    const ids = this.#ids.get(digest);
    if (typeof ids !== "object") {
      if (ids === id) this.#ids.delete(digest);
      return;
    }
    const at = ids.indexOf(id);
    if (at >= 0) ids.splice(at, 1);
    if (ids.length === 0) this.#ids.delete(digest);
  }

  /** Those of `key`, and maybe of others. */
  candidates(key: string): readonly string[] {
    const ids = this.#ids.get(digestOf(key)) ?? [];
    return typeof ids === "string" ? [ids] : ids;
  }
}

/** A whole number of 32 bits: others would take memory of their own. */
function digestOf(key: string): number {
  let digest = seed;
  for (let at = 0; at < key.length; at += 1) {
    digest = Math.imul(digest ^ key.charCodeAt(at), multiplier);
    digest ^= digest >>> 15;
  }
  return digest;
}
