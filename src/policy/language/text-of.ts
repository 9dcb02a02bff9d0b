import { durationText, timestampText } from "../../cel/values/time.ts";
import { mapGet, mapKeys } from "../../cel/values/map.ts";
import type { MapValue } from "../../cel/values/map.ts";
import { Duration, Timestamp, TypeValue, Uint } from "../../cel/values/values.ts";
import type { Value } from "../../cel/values/values.ts";

/** Levels of lists and maps that are written out. */
const maxDepth = 32;

/**
 * A value as interpolation writes it: numbers decimal, timestamps RFC 3339, durations `90s`, null "", bytes as UTF-8,
 * lists and maps as JSON.
 */
export function textOf(value: Value): string {
  switch (typeof value) {
    case "string":
      return value;
    case "bigint":
    case "number":
    case "boolean":
      return String(value);
    default:
  }
  if (value === null) return "";
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  const plain = plainOf(value);
  return typeof plain === "string" ? plain : JSON.stringify(plain);
}

/** A value as JSON holds it; whole numbers that no JSON number holds exactly become texts. */
export function plainOf(value: Value | undefined, depth = 0): unknown {
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean")
    return value ?? null;
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return wholeOf(value);
  if (value instanceof Uint) return wholeOf(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) return value.name;
  if (depth > maxDepth) return null;
  if (Array.isArray(value)) return (value as readonly Value[]).map((item) => plainOf(item, depth + 1));
  const map = value as MapValue;
  return Object.fromEntries(mapKeys(map).map((key) => [textOf(key), plainOf(mapGet(map, key), depth + 1)] as const));
}

function wholeOf(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}
