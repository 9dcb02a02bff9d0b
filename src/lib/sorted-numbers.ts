/** A set of numbers in ascending order. */
export class SortedNumbers {
  readonly #numbers: number[] = [];

  get size(): number {
    return this.#numbers.length;
  }

  /** The lowest number; undefined if the set is empty. */
  get lowest(): number | undefined {
    return this.#numbers[0];
  }

  values(): readonly number[] {
    return this.#numbers.slice();
  }

  add(number: number): void {
    const at = this.#placeOf(number);
    if (this.#numbers[at] !== number) this.#numbers.splice(at, 0, number);
  }

  delete(number: number): void {
    const at = this.#placeOf(number);
    if (this.#numbers[at] === number) this.#numbers.splice(at, 1);
  }

  #placeOf(number: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] as number) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
