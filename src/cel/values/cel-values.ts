/**
 * Values of expressions and their kinds. Most are JavaScript's own: bool, string, null; int as bigint, double as
 * number, bytes as Uint8Array, list as array. JSON is a value without conversion: its numbers are doubles, its objects
 * maps.
 */

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | MapValue
  | readonly Value[]
  | { readonly [key: string]: Value | undefined };

export type ValueKind =
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "list"
  | "map"
  | "timestamp"
  | "duration"
  | "type";

/** An unsigned 64-bit integer. A separate class, because bigint is int. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970-01-01T00:00:00Z. */
export class Timestamp {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }
}

/** A duration in nanoseconds. */
export class Duration {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }
}

/** The result of `type(x)`, and the value of `int`, `string`, and so on. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Common counts, created once. */
const smallInts = Array.from({ length: 1024 }, (_, at) => BigInt(at));

/** Converts a count to an int. Throws `RangeError` if it is not an integer. */
export function toInt(value: number): bigint {
  return smallInts[value] ?? BigInt(value);
}

export function kindOf(value: Value): ValueKind {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    default:
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "timestamp";
  if (value instanceof Duration) return "duration";
  if (value instanceof TypeValue) return "type";
  return "map";
}

/** The language's name for the type of a kind, as in `type(null) == null_type`. */
export function typeNameOf(kind: ValueKind): string {
  switch (kind) {
    case "null":
      return "null_type";
    case "timestamp":
      return "google.protobuf.Timestamp";
    case "duration":
      return "google.protobuf.Duration";
    default:
      return kind;
  }
}

const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);
const maxUint = 2n ** 64n - 1n;

export function isInt(value: bigint): boolean {
  return value >= minInt && value <= maxInt;
}

export function isUint(value: bigint): boolean {
  return value >= 0n && value <= maxUint;
}

/** A map with keys of several kinds, or with values that are looked up on demand. */
export abstract class MapValue {
  abstract get size(): number;
  /** Returns undefined if the key is absent. */
  abstract get(key: Value): Value | undefined;
  abstract has(key: Value): boolean;
  abstract keys(): readonly Value[];
}
