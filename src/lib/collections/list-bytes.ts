/**
 * Finds the first values of JSON lists in their bytes. For very many lists, this reads nothing else and creates no
 * strings.
 */

/** Positions of values: texts without their quotes. */
export class ValuePlaces {
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;

  /** @param most maximum number of values to find */
  constructor(most: number) {
    this.#starts = new Int32Array(most);
    this.#ends = new Int32Array(most);
  }

  get length(): number {
    return this.#starts.length;
  }

  start(at: number): number {
    return this.#starts[at] as number;
  }

  end(at: number): number {
    return this.#ends[at] as number;
  }

  put(at: number, start: number, end: number): void {
    this.#starts[at] = start;
    this.#ends[at] = end;
  }

  isText(bytes: Uint8Array, at: number): boolean {
    return bytes[this.start(at) - 1] === quote;
  }

  /** Whether an earlier value is the same. */
  isRepeated(bytes: Uint8Array, at: number): boolean {
    for (let other = 0; other < at; other += 1) if (this.#isSame(bytes, at, other)) return true;
    return false;
  }

  #isSame(bytes: Uint8Array, one: number, other: number): boolean {
    const length = this.end(one) - this.start(one);
    if (this.end(other) - this.start(other) !== length) return false;
    for (let at = 0; at < length; at += 1) {
      if (bytes[this.start(one) + at] !== bytes[this.start(other) + at]) return false;
    }
    return true;
  }
}

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [bracket, bracketEnd, brace, braceEnd] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Finds the first values of a list from `start` to `end`, in the format of `JSON.stringify`.
 * @returns the number of values, at most `most`; -1 if a JSON parser is needed: a value is a list, contains a list, or
 * has escapes
 */
export function findValues(bytes: Uint8Array, start: number, end: number, places: ValuePlaces): number {
  const most = places.length;
  if (bytes[start] !== bracket) return -1;
  let at = start + 1;
  if (bytes[at] === bracketEnd) return 0;
  for (let found = 0; found < most; found += 1) {
    const first = bytes[at];
    const after = first === quote ? textEnd(bytes, at + 1, end) + 1 : otherEnd(bytes, at, end);
    if (after <= 0) return -1;
    if (first === quote) places.put(found, at + 1, after - 1);
    else places.put(found, at, after);
    if (bytes[after] !== comma) return bytes[after] === bracketEnd ? found + 1 : -1;
    at = after + 1;
  }
  return most;
}

/** Returns the position of the quote after a text, or -1. */
function textEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at;
    if (byte === backslash) return -1;
  }
  return -1;
}

/** Returns the end of a number, a word, or an object without lists and objects in it; or -1. */
function otherEnd(bytes: Uint8Array, start: number, end: number): number {
  const isObject = bytes[start] === brace;
  for (let at = isObject ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === bracket || byte === brace) return -1;
    if (byte === quote) {
      at = textEnd(bytes, at + 1, end);
      if (at < 0) return -1;
    } else if (isObject) {
      if (byte === braceEnd) return at + 1;
    } else if (byte === comma || byte === bracketEnd) return at;
  }
  return -1;
}
