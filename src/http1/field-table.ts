import type { FieldBlock } from "../lib/field-block.ts";
import { isFieldValue, isHttpToken } from "../lib/http-token.ts";
import { colon, cr, lf, lowerByte, space } from "./bytes.ts";
import { known, knownNames } from "./known-fields.ts";
import { putBytes, putLatin1 } from "./slab.ts";
import { noBytes } from "../lib/no-bytes.ts";

/** Integers per field: start and end of its name, start and end of its value, kind. */
export const intsPerField = 5;
/** Bits of a field's kind. The low byte is its number in `known`, or 0. */
const knownMask = 0xff;
const droppedKind = 0x100;
/** The name has token characters other than letters, digits and "-". */
export const oddKind = 0x200;
/** The line is not `name: value` with one space, so it must be rewritten. */
export const untidyKind = 0x400;

/** Small enough that a long-lived message pins at most 16 KiB. */
const slabInts = 4 * 1024;
let intSlab = new Int32Array(slabInts);
let intsUsed = 0;

/**
 * The field lines of one message: offsets into the received bytes, and fields added later. Strings are created on
 * demand, and unchanged lines are copied as received. The pass that reads the lines (`readFields`) also records what
 * framing and forwarding need.
 *
 * Names may be looked up in any case. Added names must be tokens, and added values must be free of control characters.
 * The caller checks both.
 */
export class FieldTable {
  #bytes: Buffer;
  #ints: Int32Array;
  #base: number;
  #isOwn = false;
  #count = 0;
  /** One bit per name length modulo 32. Most looked-up names are absent, and this rules them out. */
  #lengths = 0;
  /** Fields that precede all other added ones. Undefined again after one of them was changed. */
  #block: FieldBlock | undefined;
  /** Alternating names and values; undefined while nothing was added. */
  #added: string[] | undefined;
  /** Values that were read, by index, because several rules may read the same one. */
  #values: (string | undefined)[] | undefined;

  /** The declared length; -1 without a Content-Length. */
  contentLength = -1;
  chunked = false;
  hostCount = 0;
  /** Index of the last such field; -1 when absent. */
  hostIndex = -1;
  upgradeIndex = -1;
  expectIndex = -1;
  /** Options of the Connection field. */
  connectionClose = false;
  connectionKeepAlive = false;
  connectionUpgrade = false;
  /** Connection names further fields, which must not be forwarded. */
  connectionNames = false;
  /** Whether other bytes are between the lines. */
  hasGaps = false;

  /** @param maxFields room reserved until `seal`; only one table is filled at any time */
  constructor(bytes: Buffer, maxFields: number) {
    if (intsUsed + maxFields * intsPerField > intSlab.length) {
      intSlab = new Int32Array(Math.max(slabInts, maxFields * intsPerField));
      intsUsed = 0;
    }
    this.#bytes = bytes;
    this.#ints = intSlab;
    this.#base = intsUsed;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Number of field lines in the table, including dropped ones. */
  get count(): number {
    return this.#count;
  }

  /** Records a line that the caller has checked. */
  push(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number, kind: number): void {
    const at = this.#base + this.#count * intsPerField;
    const ints = this.#ints;
    ints[at] = nameStart;
    ints[at + 1] = nameEnd;
    ints[at + 2] = valueStart;
    ints[at + 3] = valueEnd;
    ints[at + 4] = kind;
    this.#count += 1;
    this.#lengths |= 1 << (nameEnd - nameStart);
  }

  /** Returns unused room. */
  seal(): void {
    if (this.#ints === intSlab) intsUsed = this.#base + this.#count * intsPerField;
  }

  /**
   * Copies the lines into memory of their own. Before that, they share blocks with other messages, and a block lives as
   * long as its longest message. Call this for a long-lived message.
   */
  own(): void {
    if (this.#isOwn) return;
    this.#isOwn = true;
    const size = this.#count * intsPerField;
    const ints = this.#ints.slice(this.#base, this.#base + size);
    const start = size === 0 ? 0 : (ints[0] as number);
    const end = size === 0 ? 0 : (ints[size - intsPerField + 3] as number) + 2;
    for (let at = 0; at < size; at += 1) {
      if (at % intsPerField < intsPerField - 1) ints[at] = (ints[at] as number) - start;
    }
    const bytes = Buffer.allocUnsafeSlow(end - start);
    this.#bytes.copy(bytes, 0, start, end);
    this.#bytes = bytes;
    this.#ints = ints;
    this.#base = 0;
  }

  /** The field's number in `known`; 0 for other names, -1 if it was dropped. */
  knownAt(index: number): number {
    const kind = this.#int(index, 4);
    return (kind & droppedKind) === 0 ? kind & knownMask : -1;
  }

  isOdd(index: number): boolean {
    return (this.#int(index, 4) & oddKind) !== 0;
  }

  drop(index: number): void {
    const at = this.#base + index * intsPerField + 4;
    this.#ints[at] = (this.#ints[at] as number) | droppedKind;
  }

  /** Lower case. */
  nameAt(index: number): string {
    const kind = this.#int(index, 4) & knownMask;
    if (kind !== 0) return knownNames[kind] as string;
    return this.#bytes.latin1Slice(this.#int(index, 0), this.#int(index, 1)).toLowerCase();
  }

  valueAt(index: number): string {
    return this.#bytes.latin1Slice(this.#int(index, 2), this.#int(index, 3));
  }

  nameStart(index: number): number {
    return this.#int(index, 0);
  }

  nameEnd(index: number): number {
    return this.#int(index, 1);
  }

  valueStart(index: number): number {
    return this.#int(index, 2);
  }

  valueEnd(index: number): number {
    return this.#int(index, 3);
  }

  /** Returns the first value, or undefined. */
  get(name: string): string | undefined {
    const lower = name.toLowerCase();
    const index = this.#find(lower, 0);
    if (index >= 0) return this.#valueOf(index);
    return firstOf(this.#block?.fields, lower) ?? firstOf(this.#added, lower);
  }

  getAll(name: string): readonly string[] {
    const lower = name.toLowerCase();
    const first = this.#find(lower, 0);
    // There is usually one value, and a list of fixed length is cheaper than one that grows.
    const values = first < 0 ? [] : [this.#valueOf(first)];
    for (let at = this.#find(lower, first + 1); at >= 0; at = this.#find(lower, at + 1)) values.push(this.#valueOf(at));
    if (this.#block !== undefined) pushOf(this.#block.fields, lower, values);
    if (this.#added !== undefined) pushOf(this.#added, lower, values);
    return values;
  }

  has(name: string): boolean {
    if (!this.#mayHave(name)) return false;
    const lower = name.toLowerCase();
    return this.#find(lower, 0) >= 0 || isIn(this.#block?.fields, lower) || isIn(this.#added, lower);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  append(name: string, value: string): void {
    if (!isHttpToken(name)) throw new Error(`add a header field: "${name}" is not a field name`);
    if (!isFieldValue(value)) throw new Error(`add the header field "${name}": its value has characters not allowed`);
    (this.#added ??= []).push(name.toLowerCase(), value);
  }

  appendBlock(block: FieldBlock): void {
    if (this.#block === undefined) this.#block = block;
    else (this.#added ??= []).push(...block.fields);
  }

  delete(name: string): void {
    if (!this.#mayHave(name)) return;
    const lower = name.toLowerCase();
    for (let at = this.#find(lower, 0); at >= 0; at = this.#find(lower, at + 1)) this.drop(at);
    const block = this.#block;
    if (isIn(block?.fields, lower)) {
      this.#added = [...(block?.fields ?? []), ...(this.#added ?? [])];
      this.#block = undefined;
    }
    const added = this.#added;
    if (added === undefined) return;
    for (let at = added.length - 2; at >= 0; at -= 2) if (added[at] === lower) added.splice(at, 2);
  }

  /** All fields that were not dropped, then the added ones. */
  entries(): readonly (readonly [name: string, value: string])[] {
    const entries: (readonly [string, string])[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      if (this.knownAt(index) >= 0) entries.push([this.nameAt(index), this.valueAt(index)]);
    }
    if (this.#block !== undefined) pushPairs(this.#block.fields, entries);
    if (this.#added !== undefined) pushPairs(this.#added, entries);
    return entries;
  }

  /** All fields as received, in order, whatever was dropped, changed or added since. */
  received(): readonly (readonly [name: string, value: string])[] {
    const fields: (readonly [string, string])[] = [];
    for (let index = 0; index < this.#count; index += 1) fields.push([this.nameAt(index), this.valueAt(index)]);
    return fields;
  }

  /** The lines of `received` are from here to `linesEnd` in `bytes`, unless `hasGaps`, until the message's next change. */
  get linesStart(): number {
    return this.#count === 0 ? 0 : this.#int(0, 0);
  }

  /** The last line may end before its CR LF. */
  get linesEnd(): number {
    return this.#count === 0 ? 0 : this.#int(this.#count - 1, 3);
  }

  /** An upper bound for the bytes that `write` produces. */
  get byteBound(): number {
    let bound = 0;
    if (this.#count > 0) bound = this.#int(this.#count - 1, 3) - this.#int(0, 0) + 4 * this.#count;
    bound += this.#block?.lines.length ?? 0;
    const added = this.#added;
    if (added !== undefined) for (const text of added) bound += text.length + 2;
    return bound;
  }

  /**
   * Writes the lines without the final empty one. Adjacent unchanged lines are copied together. Returns the end
   * position.
   */
  write(target: Buffer, start: number): number {
    let at = start;
    let runStart = 0;
    let runEnd = -1;
    const ints = this.#ints;
    const end = this.#base + this.#count * intsPerField;
    for (let field = this.#base; field < end; field += intsPerField) {
      const kind = ints[field + 4] as number;
      if ((kind & (droppedKind | untidyKind)) === 0) {
        const nameStart = ints[field] as number;
        if (runEnd !== nameStart) {
          if (runEnd >= 0) at = putBytes(target, at, this.#bytes, runStart, runEnd);
          runStart = nameStart;
        }
        runEnd = (ints[field + 3] as number) + 2;
        continue;
      }
      if (runEnd >= 0) at = putBytes(target, at, this.#bytes, runStart, runEnd);
      runEnd = -1;
      if ((kind & droppedKind) !== 0) continue;
      at = putBytes(target, at, this.#bytes, ints[field] as number, ints[field + 1] as number);
      target[at] = colon;
      target[at + 1] = space;
      at = putBytes(target, at + 2, this.#bytes, ints[field + 2] as number, ints[field + 3] as number);
      at = putLatin1(target, at, "\r\n");
    }
    if (runEnd >= 0) at = putBytes(target, at, this.#bytes, runStart, runEnd);
    if (this.#block !== undefined) at = putLatin1(target, at, this.#block.lines);
    const added = this.#added;
    if (added === undefined) return at;
    for (let index = 0; index < added.length; index += 2) {
      at = putLatin1(target, at, added[index] as string);
      target[at] = colon;
      target[at + 1] = space;
      at = putLatin1(target, at + 2, added[index + 1] as string);
      target[at] = cr;
      target[at + 1] = lf;
      at += 2;
    }
    return at;
  }

  /** Rules out most names that are absent, in any case. */
  #mayHave({ length }: string): boolean {
    return (this.#lengths & (1 << length)) !== 0 || this.#block !== undefined || this.#added !== undefined;
  }

  /** Index of the first line at or after `from` with this lower-case name, or -1. */
  #find(name: string, from: number): number {
    const { length } = name;
    if ((this.#lengths & (1 << length)) === 0) return -1;
    for (let index = from; index < this.#count; index += 1) {
      const at = this.#base + index * intsPerField;
      const start = this.#ints[at] as number;
      if ((this.#ints[at + 1] as number) - start !== length) continue;
      if (((this.#ints[at + 4] as number) & droppedKind) !== 0) continue;
      let same = 0;
      while (same < length && lowerByte[this.#bytes[start + same] as number] === name.charCodeAt(same)) same += 1;
      if (same === length) return index;
    }
    return -1;
  }

  #valueOf(index: number): string {
    const known = this.#values?.[index];
    if (known !== undefined) return known;
    const value = this.valueAt(index);
    (this.#values ??= [])[index] = value;
    return value;
  }

  #int(index: number, part: number): number {
    return this.#ints[this.#base + index * intsPerField + part] as number;
  }
}

/** Returns the first value of a lower-case name in a list of alternating names and values. */
function firstOf(fields: readonly string[] | undefined, name: string): string | undefined {
  if (fields === undefined) return undefined;
  for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
  return undefined;
}

function isIn(fields: readonly string[] | undefined, name: string): boolean {
  return firstOf(fields, name) !== undefined;
}

function pushOf(fields: readonly string[], name: string, values: string[]): void {
  for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) values.push(fields[at + 1] as string);
}

function pushPairs(fields: readonly string[], pairs: (readonly [string, string])[]): void {
  for (let at = 0; at < fields.length; at += 2) pairs.push([fields[at] as string, fields[at + 1] as string]);
}

/** Returns a table without lines, to which fields can be added. */
export function emptyFields(): FieldTable {
  return new FieldTable(noBytes, 0);
}

/** Whether a field frames its message or belongs to this connection alone (RFC 9110 §7.6.1). */
export function isHopByHop(id: number): boolean {
  return id >= known["transfer-encoding"] && id <= known["http2-settings"] && id !== known.expect;
}
