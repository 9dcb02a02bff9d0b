import { cr, lf } from "./bytes.ts";

const firstBytes = 1024;

/**
 * Collects the pieces of an incomplete head and decides when it is worth parsing again, so that a peer that sends it
 * byte by byte causes linear instead of quadratic work.
 */
export class HeadBuffer {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies more bytes. Returns true if there may be a complete head, a line without CR LF, or too many bytes. */
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

  /** The collected bytes. Must not be modified. */
  bytes(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.#length);
  }

  clear(): void {
    this.#bytes = undefined;
    this.#length = 0;
  }
}
