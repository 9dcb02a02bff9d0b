/** A value with its key, linked to its neighbors in the order of use. */
interface LruNode<K, V> {
  readonly key: K;
  value: V;
  older: LruNode<K, V> | undefined;
  newer: LruNode<K, V> | undefined;
}

/**
 * A map of at most `max` entries that removes the least recently used one. The order of use is a linked list of the
 * entries. Reordering a `Map` instead would leave a hole with each lookup, and rebuild its table regularly.
 */
export class Lru<K, V> {
  readonly #entries = new Map<K, LruNode<K, V>>();
  readonly #max: number;
  #oldest: LruNode<K, V> | undefined;
  #newest: LruNode<K, V> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(entry);
    return entry.value;
  }

  set(key: K, value: V): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      this.#use(known);
      return;
    }
    const entry: LruNode<K, V> = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    if (this.#entries.size > this.#max && this.#oldest) this.delete(this.#oldest.key);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
  }

  /** Yields entries, the least recently used one first. */
  *entries(): Iterable<[K, V]> {
    for (let entry = this.#oldest; entry; entry = entry.newer) yield [entry.key, entry.value];
  }

  #use(entry: LruNode<K, V>): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#append(entry);
  }

  #append(entry: LruNode<K, V>): void {
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  /** Clears the links of the entry, so that a removed entry does not keep others in memory. */
  #unlink(entry: LruNode<K, V>): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    entry.older = entry.newer = undefined;
  }
}
