/** Equality of any two values, and order of comparable ones. */
import { mapGet, mapHas, mapKeys, mapSize } from "./map.ts";
import { MapValue } from "./cel-values.ts";
import type { Meter, Result } from "./budget.ts";
import { Duration, Timestamp, TypeValue, Uint } from "./cel-values.ts";
import type { Value } from "./cel-values.ts";
import { CelFailure } from "./cel-failure.ts";

/**
 * Numbers compare across kinds. Other values of different kinds are unequal. Returns a failure if it takes too long.
 */
export function equalValues(one: Value, other: Value, run: Meter): boolean | CelFailure {
  if (typeof one !== "object" && typeof one === typeof other) {
    if (typeof one === "string" && one.length > 64 && one.length === (other as string).length) {
      const spent = run.spendText(one.length);
      if (spent) return spent;
    }
    return one === other;
  }
  if (isNumber(one) && isNumber(other)) return compareNumbers(one, other) === 0;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  return equalObjects(one, other, run);
}

function equalObjects(one: Value & object, other: Value & object, run: Meter): boolean | CelFailure {
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) ? equalLists(one, other, run) : false;
  }
  if (one instanceof Uint8Array) {
    if (!(other instanceof Uint8Array) || one.length !== other.length) return false;
    return run.spendText(one.length) ?? Buffer.compare(one, other) === 0;
  }
  if (one instanceof Timestamp) return other instanceof Timestamp && one.ns === other.ns;
  if (one instanceof Duration) return other instanceof Duration && one.ns === other.ns;
  if (one instanceof TypeValue) return other instanceof TypeValue && one.name === other.name;
  if (!isMap(one) || !isMap(other)) return false;
  if (mapSize(one) !== mapSize(other)) return false;
  const spent = run.spend(1 + mapSize(one));
  if (spent) return spent;
  for (const key of mapKeys(one)) {
    if (!mapHas(other, key)) return false;
    const same = equalValues(mapGet(one, key) as Value, mapGet(other, key) as Value, run);
    if (same !== true) return same;
  }
  return true;
}

function equalLists(one: readonly Value[], other: readonly Value[], run: Meter): boolean | CelFailure {
  if (one.length !== other.length) return false;
  const spent = run.spend(1 + (one.length >> 3));
  if (spent) return spent;
  for (let at = 0; at < one.length; at += 1) {
    const same = equalValues(one[at] as Value, other[at] as Value, run);
    if (same !== true) return same;
  }
  return true;
}

function isMap(value: Value & object): value is MapValue | { readonly [key: string]: Value | undefined } {
  if (value instanceof MapValue) return true;
  return !(
    Array.isArray(value) ||
    value instanceof Uint8Array ||
    value instanceof Uint ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof TypeValue
  );
}

type Numeric = number | bigint | Uint;

export function isNumber(value: Value): value is Numeric {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/**
 * Returns a negative number, 0, a positive number, or NaN if one of them is NaN. Whole numbers compare exactly; with a
 * double they compare as the nearest double.
 */
export function compareNumbers(one: Numeric, other: Numeric): number {
  const a = one instanceof Uint ? one.value : one;
  const b = other instanceof Uint ? other.value : other;
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN;
  const difference = Number(a) - Number(b);
  // Infinity minus infinity.
  return Number.isNaN(difference) && Number(a) === Number(b) ? 0 : difference;
}

/** By code points: UTF-16 order puts characters beyond U+FFFF before U+E000. */
export function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a === b) continue;
    const isHighA = a >= 0xd8_00 && a <= 0xdf_ff;
    const isHighB = b >= 0xd8_00 && b <= 0xdf_ff;
    return isHighA === isHighB ? a - b : isHighA ? 1 : -1;
  }
  return one.length - other.length;
}

/**
 * Returns a negative number, 0, a positive number, or NaN for unordered values; a failure for kinds without an order.
 */
export function compareValues(one: Value, other: Value, run: Meter): number | CelFailure {
  if (typeof one === "string" && typeof other === "string") {
    return run.spendText(Math.min(one.length, other.length)) ?? compareText(one, other);
  }
  if (isNumber(one) && isNumber(other)) return compareNumbers(one, other);
  if (typeof one === "boolean" && typeof other === "boolean") return Number(one) - Number(other);
  if (one instanceof Timestamp && other instanceof Timestamp) return compareNumbers(one.ns, other.ns);
  if (one instanceof Duration && other instanceof Duration) return compareNumbers(one.ns, other.ns);
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    return run.spendText(Math.min(one.length, other.length)) ?? Buffer.compare(one, other);
  }
  return new CelFailure("these values have no order");
}

/** Whether the list contains an equal item. */
export function listHas(list: readonly Value[], value: Value, run: Meter): Result {
  const spent = run.spend((list.length + 7) >> 3);
  if (spent) return spent;
  // Only a string equals a string.
  if (typeof value === "string" && value.length <= 64) return list.includes(value);
  for (const item of list) {
    const same = equalValues(item, value, run);
    if (same !== false) return same;
  }
  return false;
}
