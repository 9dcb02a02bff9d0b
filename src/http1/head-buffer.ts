import { cr, lf } from "./bytes.ts";

const firstBytes = 1024;

/**
 * Keeps the pieces of a head that did not arrive whole, and says when it is worth reading again, so that a peer
 * that sends it byte by byte costs what it sends and not its square.
 */
export class HeadBuffer {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Takes more bytes, copying them. True when there may be a whole head, a line that is not ended by CR LF, or too much. */
  add(bytes: Buffer, maxBytes: number): boolean {
    const from = this.#length;
    const needed = from + bytes.length;
    let kept = this.#bytes;
    if (kept === undefined || kept.length < needed) {
      const grown = Buffer.allocUnsafeSlow(Math.max(firstBytes, needed * 2));
      kept?.copy(grown, 0, 0, from);
      this.#bytes = kept = grown;
    }
    bytes.copy(kept, from);
    this.#length = needed;
    if (needed > maxBytes) return true;
    for (let at = kept.indexOf(lf, from); at >= 0 && at < needed; at = kept.indexOf(lf, at + 1)) {
      if (at === 0 || kept[at - 1] !== cr) return true;
      if (at >= 3 && kept[at - 2] === lf && kept[at - 3] === cr) return true;
    }
    return false;
  }

  /** What is kept; not to be changed. */
  bytes(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.#length);
  }

  clear(): void {
    this.#bytes = undefined;
    this.#length = 0;
  }
}
