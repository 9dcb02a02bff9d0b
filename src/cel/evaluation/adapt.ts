/** Converts values from the environment to their declared types. */
import { Duration, toInt, Timestamp, Uint } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";
import type { Result, Run } from "../values/budget.ts";
import type { Type } from "../checking/cel-types.ts";

export type Adapt = (value: Value) => Value;

/**
 * JSON has one kind of number, which becomes an int where an int is declared. Returns undefined if nothing needs
 * conversion.
 */
export function adapterOf(type: Type): Adapt | undefined {
  switch (type.is) {
    case "int":
      return (value) => (typeof value === "number" && Number.isInteger(value) ? toInt(value) : value);
    case "nullable":
      return adapterOf(type.of);
    case "list": {
      const item = adapterOf(type.of);
      return item && ((value) => (Array.isArray(value) ? value.map(item) : value));
    }
    case "map": {
      const of = adapterOf(type.of);
      return of && ((value) => (isPlain(value) ? mapValues(value, of) : value));
    }
    default:
      return undefined;
  }
}

/** Returns the converted value, including nested values, or a failure if that takes too long. */
export function adaptValue(adapt: Adapt, value: Value, run: Run): Result {
  if (typeof value !== "object" || value === null) return adapt(value);
  return run.spendItems(sizeOf(value, 16 * run.steps)) ?? adapt(value);
}

/** Number of nested values that an adapter visits, counted up to `most`. */
function sizeOf(value: Value, most: number): number {
  if (typeof value !== "object" || value === null) return 1;
  const inside: readonly (Value | undefined)[] = Array.isArray(value)
    ? (value as readonly Value[])
    : isPlain(value)
      ? Object.values(value)
      : [];
  let size = 1;
  for (const one of inside) {
    if (size > most) return size;
    size += sizeOf(one ?? null, most - size);
  }
  return size;
}

/** The value of an absent variable; undefined if the type does not define one. */
export function zeroOf(type: Type): Value | undefined {
  switch (type.is) {
    case "bool":
      return false;
    case "int":
      return 0n;
    case "uint":
      return new Uint(0n);
    case "double":
      return 0;
    case "string":
      return "";
    case "bytes":
      return new Uint8Array();
    case "list":
      return [];
    case "map":
    case "object":
      return {};
    case "timestamp":
      return new Timestamp(0n);
    case "duration":
      return new Duration(0n);
    case "null":
    case "nullable":
      return null;
    default:
      return undefined;
  }
}

type JsonObject = Readonly<Record<string, Value | undefined>>;

function isPlain(value: Value): value is JsonObject {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function mapValues(from: JsonObject, change: Adapt): JsonObject {
  const entries = Object.entries(from).map(([key, value]) => [key, value === undefined ? undefined : change(value)]);
  return Object.fromEntries(entries) as JsonObject;
}
