/** The most recent values up to a maximum number, oldest first. */
export class Ring<T> implements Iterable<T> {
  readonly #capacity: number;
  #values: T[] = [];
  /** Index of the oldest value. */
  #start = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#values.length;
  }

  /** Adds a value. Returns false if that removed the oldest one. */
  put(value: T): boolean {
    if (this.#values.length < this.#capacity) {
      if (this.#start > 0) this.#unroll();
      this.#values.push(value);
      return true;
    }
    this.#values[this.#start] = value;
    this.#start = (this.#start + 1) % this.#capacity;
    return false;
  }

  /** Removes the oldest value. Returns false if there is none. */
  drop(): boolean {
    if (this.#start > 0) this.#unroll();
    return this.#values.shift() !== undefined;
  }

  *[Symbol.iterator](): Iterator<T> {
    const { length } = this.#values;
    for (let step = 0; step < length; step += 1) yield this.#values[(this.#start + step) % length] as T;
  }

  #unroll(): void {
    this.#values = [...this];
    this.#start = 0;
  }
}
