/** A mark for each port of a range, searched 32 ports at a time. */
export class PortMarks {
  readonly #words: Uint32Array;
  readonly #count: number;

  /** All ports are marked initially. */
  constructor(count: number) {
    this.#count = count;
    this.#words = new Uint32Array(Math.ceil(count / 32)).fill(0xffff_ffff);
    if (count % 32 !== 0) this.#words[this.#words.length - 1] = (1 << (count % 32)) - 1;
  }

  set(at: number, isMarked: boolean): void {
    if (at < 0 || at >= this.#count) return;
    const bit = 1 << (at & 31);
    const word = this.#words[at >>> 5] as number;
    this.#words[at >>> 5] = isMarked ? word | bit : word & ~bit;
  }

  /** Returns the first mark from `from` on and before `to`, or -1. */
  next(from: number, to: number): number {
    for (let at = from; at < to; at = (at | 31) + 1) {
      const rest = (this.#words[at >>> 5] as number) >>> (at & 31);
      if (rest === 0) continue;
      // Position of the lowest bit.
      const found = at + 31 - Math.clz32(rest & -rest);
      return found < to ? found : -1;
    }
    return -1;
  }
}
