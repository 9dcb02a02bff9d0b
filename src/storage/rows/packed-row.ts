import { ValuePlaces, findValues } from "../../lib/collections/list-bytes.ts";
import { isThere, viewOf } from "../../lib/collections/value-bytes.ts";
import type { Packing } from "../../schema/packed.ts";
import { sealedMark } from "./documents.ts";
import type { Rows } from "./rows.ts";

const [lineEnd, brace] = [0x0a, 0x7b];

/** The row of a packed object, read in its bytes. One instance reads one row after the other. */
export class PackedRow {
  /** Positions of the keys. */
  places = new ValuePlaces(0);
  /** End of the object's own values. */
  ownEnd = 0;
  /** JSON of the values in common with other objects. Usually the same text as the neighbor's. */
  common = "";
  #commonBytes = viewOf(Buffer.alloc(0));

  /**
   * Reads the current row.
   * @returns whether the row is fully read; false if a value is sealed, if keys are not plain texts, or if the text has
   * another form
   */
  read(rows: Rows, { keys }: Packing): boolean {
    const { bytes, doc, end } = rows;
    const ownEnd = this.#findOwnEnd(bytes, doc, end);
    if (ownEnd < 0) return false;
    if (this.places.length !== keys) this.places = new ValuePlaces(keys);
    if (findValues(bytes, doc, ownEnd, this.places) !== keys) return false;
    for (let at = 0; at < keys; at += 1) if (!this.places.isText(bytes, at)) return false;
    this.ownEnd = ownEnd;
    this.#readCommon(rows, ownEnd + 1);
    return true;
  }

  /** Returns the end of the first of two lines; -1 if there is only one line, or if a value in it is sealed. */
  #findOwnEnd(bytes: Buffer, start: number, end: number): number {
    const found = bytes.indexOf(lineEnd, start);
    if (found < 0 || found > end) return -1;
    const object = bytes.indexOf(brace, start);
    const isSealed = object >= 0 && object < found && bytes.utf8Slice(object, found).includes(sealedMark);
    return isSealed ? -1 : found;
  }

  #readCommon({ bytes, view, end }: Rows, start: number): void {
    const known = this.#commonBytes;
    if (end - start === known.byteLength && isThere(known, view, start)) return;
    this.#commonBytes = viewOf(Buffer.from(bytes.subarray(start, end)));
    this.common = bytes.utf8Slice(start, end);
  }
}
