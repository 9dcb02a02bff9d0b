/** Bytes that have arrived and were not read yet. Small parts are joined only when they are complete. */
export class Arrived {
  length = 0;
  #parts: Buffer[] = [];

  add(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }

  /** Returns the first `count` bytes, which must have arrived. */
  peek(count: number): Buffer {
    const first = this.#parts[0] as Buffer;
    if (first.length >= count) return first.subarray(0, count);
    this.#parts = [Buffer.concat(this.#parts)];
    return (this.#parts[0] as Buffer).subarray(0, count);
  }

  /** Removes and returns the first `count` bytes, which must have arrived. */
  take(count: number): Buffer {
    const taken = this.peek(count);
    const first = this.#parts[0] as Buffer;
    if (first.length === count) this.#parts.shift();
    else this.#parts[0] = first.subarray(count);
    this.length -= count;
    return taken;
  }

  /** Removes and returns a line without its end. Undefined if none is complete within `maxBytes`. */
  line(maxBytes: number): string | undefined {
    const bytes = this.peek(Math.min(this.length, maxBytes));
    const end = bytes.indexOf(10);
    if (end < 0) return undefined;
    return this.take(end + 1)
      .toString("latin1")
      .replace(/\r?\n$/, "");
  }
}
