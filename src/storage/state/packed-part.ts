/** Packed objects in the form for sending: one part, with as many objects as fit in 1 MiB. */
import type { PackedTexts } from "../../lib/collections/packed-texts.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import type { CommonValues } from "./common-values.ts";

const partBytes = 1 << 20;
/** Bytes of a line besides the text: a number, a space and the end of the line. */
const mostBesides = 12;

export class Part {
  readonly #kind: string;
  readonly #commons = new Map<CommonValues, number>();
  #bytes: Buffer<ArrayBuffer> | undefined;
  #end = 0;

  constructor(kind: string) {
    this.#kind = kind;
  }

  get isEmpty(): boolean {
    return this.#end === 0;
  }

  /** Whether a text of this length fits. A single text always does. */
  hasRoom(length: number): boolean {
    return !this.#bytes || this.#end + length + mostBesides <= this.#bytes.length;
  }

  /** @param number of its text in `texts`: its id, a space, and its own values */
  add(common: CommonValues, texts: PackedTexts, number: number): void {
    let at = this.#commons.get(common);
    if (at === undefined) this.#commons.set(common, (at = this.#commons.size));
    const bytes = (this.#bytes ??= Buffer.allocUnsafeSlow(Math.max(partBytes, texts.lengthOf(number) + mostBesides)));
    const start = this.#end + bytes.latin1Write(`${at} `, this.#end);
    const end = texts.copy(number, bytes, start);
    bytes[end] = lineEnd;
    this.#end = end + 1;
  }

  /** Returns the part. The caller owns it. */
  finish(): PackedObjects {
    const objects = new Uint8Array((this.#bytes as Buffer<ArrayBuffer>).buffer.transfer(this.#end));
    const commons = Array.from(this.#commons.keys(), ({ account_id, text }) => ({ account_id, text }));
    return { kind: this.#kind, commons, objects };
  }
}

const lineEnd = 0x0a;
