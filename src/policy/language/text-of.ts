import { CelFailure } from "../../cel/values/cel-failure.ts";
import { durationText, timestampText } from "../../cel/values/time.ts";
import { mapGet, mapKeys } from "../../cel/values/map.ts";
import type { MapValue } from "../../cel/values/cel-values.ts";
import { failTooLong } from "../../cel/values/budget.ts";
import type { Meter } from "../../cel/values/budget.ts";
import { Duration, Timestamp, TypeValue, Uint } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";

/** Maximum levels of lists and maps in the output. */
const maxDepth = 32;

/**
 * Returns a value in the format of interpolation: numbers decimal, timestamps RFC 3339, durations `90s`, null "", bytes
 * as UTF-8, lists and maps as JSON. Lists and maps that occur several times in a value are charged each time.
 */
export function textOf(value: Value, meter: Meter): string | CelFailure {
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  if (value === null) return "";
  if (value instanceof Uint8Array) return bytesText(value, meter);
  const plain = toJsonData(value, meter);
  if (plain instanceof CelFailure || typeof plain === "string") return plain;
  return jsonOf(plain, meter);
}

/** Returns a value as JSON text. */
export function jsonText(value: Value, meter: Meter): string | CelFailure {
  const plain = toJsonData(value, meter);
  return plain instanceof CelFailure ? plain : jsonOf(plain, meter);
}

/** Escapes make a text up to six times longer. */
function jsonOf(plain: unknown, meter: Meter): string | CelFailure {
  const text = JSON.stringify(plain) ?? "null";
  return meter.makeText(text.length) ?? text;
}

/** Returns a value as JSON data. Integers that JSON cannot represent exactly become texts. */
export function toJsonData(value: Value | undefined, meter: Meter): unknown {
  return new Walk(meter).plain(value, 0);
}

function bytesText(bytes: Uint8Array, meter: Meter): string | CelFailure {
  return meter.makeText(bytes.length) ?? Buffer.from(bytes).toString("utf8");
}

/** Charges for each part of a value before visiting it, and limits the total length of all texts. */
class Walk {
  readonly #meter: Meter;
  #length = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** Returns the value or a failure. */
  plain(value: Value | undefined, depth: number): unknown {
    if (typeof value === "string") return this.#text(value.length) ?? value;
    if (typeof value === "bigint") return toWholeNumber(value);
    if (typeof value !== "object") return value ?? null;
    if (value === null) return null;
    if (value instanceof Uint) return toWholeNumber(value.value);
    if (value instanceof Uint8Array) return this.#text(value.length) ?? bytesText(value, this.#meter);
    if (value instanceof Timestamp) return timestampText(value);
    if (value instanceof Duration) return durationText(value);
    if (value instanceof TypeValue) return value.name;
    if (depth > maxDepth) return null;
    return Array.isArray(value) ? this.#list(value as readonly Value[], depth) : this.#map(value as MapValue, depth);
  }

  #text(length: number): CelFailure | undefined {
    this.#length += length;
    const { limits } = this.#meter;
    return this.#length > limits.textLength ? failTooLong(limits) : this.#meter.spendText(length);
  }

  #list(list: readonly Value[], depth: number): unknown {
    const spent = this.#meter.spend(1 + (list.length >> 3)) ?? this.#text(list.length);
    if (spent) return spent;
    const items: unknown[] = [];
    for (const item of list) {
      const plain = this.plain(item, depth + 1);
      if (plain instanceof CelFailure) return plain;
      items.push(plain);
    }
    return items;
  }

  #map(map: MapValue, depth: number): unknown {
    const keys = mapKeys(map);
    const spent = this.#meter.spend(1 + (keys.length >> 1));
    if (spent) return spent;
    const entries: (readonly [string, unknown])[] = [];
    for (const key of keys) {
      const name = textOf(key, this.#meter);
      if (name instanceof CelFailure) return name;
      const plain = this.#text(name.length) ?? this.plain(mapGet(map, key), depth + 1);
      if (plain instanceof CelFailure) return plain;
      entries.push([name, plain]);
    }
    return Object.fromEntries(entries);
  }
}

function toWholeNumber(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}
