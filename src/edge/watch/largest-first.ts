/** Keys with sizes. Finds the largest without looking at the others. */
export class LargestFirst<Key> {
  readonly #sizes = new Map<Key, number>();
  /** Keys by their size, from 1. */
  readonly #bySize: Set<Key>[] = [];
  #largest = 0;

  /** A key of the largest size. Undefined if every size is 0. */
  get largest(): Key | undefined {
    for (; this.#largest > 0; this.#largest -= 1) {
      for (const key of this.#bySize[this.#largest] ?? []) return key;
    }
    return undefined;
  }

  set(key: Key, size: number): void {
    const before = this.#sizes.get(key);
    if (before === size) return;
    if (before !== undefined) this.#bySize[before]?.delete(key);
    if (size === 0) {
      this.#sizes.delete(key);
      return;
    }
    this.#sizes.set(key, size);
    (this.#bySize[size] ??= new Set()).add(key);
    if (size > this.#largest) this.#largest = size;
  }
}
