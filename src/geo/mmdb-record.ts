/** Reads one value of the data section of an MMDB file, with bounds on depth, values and bytes of text. */

export type RecordValue =
  | string
  | number
  | boolean
  | undefined
  | readonly RecordValue[]
  | { readonly [name: string]: RecordValue };

/** Nested values of one record. City databases have four levels. */
const mostDepth = 12;
/** Values of one record, counting skipped ones. City databases have 100. */
const mostValues = 4_000;
/** Bytes of all texts of one record. */
const mostTextBytes = 65_536;

const types = { pointer: 1, text: 2, double: 3, bytes: 4, uint16: 5, uint32: 6, map: 7, int32: 8, uint64: 9 } as const;
const furtherTypes = { uint128: 10, array: 11, boolean: 14, float: 15 } as const;

/** The file is damaged or was made to do harm. */
export class DamagedDatabase extends Error {}

export class RecordReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** The data section: pointers count from its start, and no value crosses its end. */
  readonly #start: number;
  readonly #end: number;
  readonly #wanted: ReadonlySet<string> | undefined;
  /** Names of members by the offset of their text. Most records point to the same ones. */
  readonly #names = new Map<number, string>();
  #at = 0;
  #valuesLeft = 0;
  #textLeft = 0;

  /** @param wanted members of maps that are read; others are skipped. Default: all */
  constructor(bytes: Buffer, start: number, end: number, wanted?: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#start = start;
    this.#end = end;
    this.#wanted = wanted;
  }

  /** Reads the value at `offset` of the data section. Throws `DamagedDatabase`. */
  read(offset: number): RecordValue {
    this.#valuesLeft = mostValues;
    this.#textLeft = mostTextBytes;
    this.#at = this.#start + offset;
    return this.#value(0);
  }

  #value(depth: number): RecordValue {
    const { type, size } = this.#head(depth);
    if (type === types.pointer) return this.#pointed(size, () => this.#value(depth + 1));
    if (type === types.map) return this.#map(size, depth);
    if (type === furtherTypes.array) return this.#array(size, depth);
    if (type === furtherTypes.boolean) return size !== 0;
    const from = this.#advance(size);
    if (type === types.text) return this.#text(from, size);
    if (type === types.double && size === 8) return this.#view.getFloat64(from);
    if (type === furtherTypes.float && size === 4) return this.#view.getFloat32(from);
    if (type === types.int32 && size === 4) return this.#view.getInt32(from);
    if (type === types.uint16 || type === types.uint32 || type === types.int32 || type === types.uint64) {
      return this.#integer(from, size);
    }
    if (type === types.bytes || type === furtherTypes.uint128) return undefined;
    throw new DamagedDatabase(`a value has the type ${type}`);
  }

  /** Moves behind a value without following its pointers. */
  #skip(depth: number): void {
    const { type, size } = this.#head(depth);
    if (type === types.map || type === furtherTypes.array) {
      const count = type === types.map ? 2 * size : size;
      for (let at = 0; at < count; at += 1) this.#skip(depth + 1);
    } else if (type !== types.pointer && type !== furtherTypes.boolean) this.#advance(size);
  }

  #map(size: number, depth: number): RecordValue {
    // Without a prototype, so that a member named `__proto__` is a member.
    const map = Object.create(null) as Record<string, RecordValue>;
    for (let at = 0; at < size; at += 1) {
      const name = this.#name(depth + 1);
      if (this.#wanted && !this.#wanted.has(name)) this.#skip(depth + 1);
      else map[name] = this.#value(depth + 1);
    }
    return map;
  }

  #array(size: number, depth: number): RecordValue {
    const array: RecordValue[] = [];
    for (let at = 0; at < size; at += 1) array.push(this.#value(depth + 1));
    return array;
  }

  #name(depth: number): string {
    const { type, size } = this.#head(depth);
    if (type === types.pointer) return this.#pointed(size, () => this.#name(depth + 1));
    if (type !== types.text) throw new DamagedDatabase("the name of a member is not a text");
    const from = this.#advance(size);
    const known = this.#names.get(from);
    if (known !== undefined) return known;
    const name = this.#text(from, size);
    if (this.#names.size < 1_000) this.#names.set(from, name);
    return name;
  }

  #pointed<T>(target: number, read: () => T): T {
    const next = this.#at;
    this.#at = this.#start + target;
    const value = read();
    this.#at = next;
    return value;
  }

  /** Reads type and size. For a pointer, the size is the offset to which it points. */
  #head(depth: number): { readonly type: number; readonly size: number } {
    this.#valuesLeft -= 1;
    if (depth > mostDepth) throw new DamagedDatabase(`a record has more than ${mostDepth} levels`);
    if (this.#valuesLeft < 0) throw new DamagedDatabase(`a record has more than ${mostValues} values`);
    const control = this.#byte();
    let type = control >> 5;
    if (type === types.pointer) return { type, size: this.#pointer(control) };
    if (type === 0) type = this.#byte() + 7;
    const short = control & 31;
    if (short < 29) return { type, size: short };
    if (short === 29) return { type, size: 29 + this.#byte() };
    const two = this.#integer(this.#advance(2), 2);
    if (short === 30) return { type, size: 285 + two };
    return { type, size: 65_821 + two * 256 + this.#byte() };
  }

  #pointer(control: number): number {
    const kind = (control >> 3) & 3;
    const high = control & 7;
    const low = this.#integer(this.#advance(kind + 1), kind + 1);
    if (kind === 0) return high * 2 ** 8 + low;
    if (kind === 1) return high * 2 ** 16 + low + 2_048;
    if (kind === 2) return high * 2 ** 24 + low + 526_336;
    return low;
  }

  #text(from: number, size: number): string {
    this.#textLeft -= size;
    if (this.#textLeft < 0) throw new DamagedDatabase(`a record has more than ${mostTextBytes} bytes of text`);
    return this.#bytes.utf8Slice(from, from + size);
  }

  #integer(from: number, size: number): number {
    if (size > 8) throw new DamagedDatabase(`an integer has ${size} bytes`);
    let value = 0;
    for (let at = 0; at < size; at += 1) value = value * 256 + (this.#bytes[from + at] as number);
    return value;
  }

  #byte(): number {
    return this.#bytes[this.#advance(1)] as number;
  }

  /** Returns the present offset and moves by `size`. */
  #advance(size: number): number {
    const from = this.#at;
    if (from < this.#start || from + size > this.#end) throw new DamagedDatabase("a value crosses the end of the data");
    this.#at = from + size;
    return from;
  }
}
