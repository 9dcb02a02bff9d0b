/** Maps behind one interface: those that expressions create, those of environments, and JSON objects. */
import { kindOf, Uint } from "./cel-values.ts";
import type { Value } from "./cel-values.ts";
import { MapValue } from "./cel-values.ts";

/** The result of `{key: value}`. Equal numbers are the same key, whatever their kinds. */
export class Dictionary extends MapValue {
  readonly #entries = new Map<unknown, readonly [key: Value, value: Value]>();

  override get size(): number {
    return this.#entries.size;
  }

  override get(key: Value): Value | undefined {
    return this.#entries.get(plainKey(key))?.[1];
  }

  override has(key: Value): boolean {
    return this.#entries.has(plainKey(key));
  }

  override keys(): readonly Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }

  /** Returns false without a change if the key exists. */
  add(key: Value, value: Value): boolean {
    const plain = plainKey(key);
    if (this.#entries.has(plain)) return false;
    this.#entries.set(plain, [key, value]);
    return true;
  }
}

/** Strings, booleans and bigints as they are; other numbers as the equal bigint. */
function plainKey(key: Value): unknown {
  if (key instanceof Uint) return key.value;
  if (typeof key === "number") return Number.isInteger(key) ? BigInt(key) : undefined;
  return key;
}

/** Whether a value of this kind can be a key. */
export function canBeKey(key: Value): boolean {
  const kind = kindOf(key);
  return kind === "string" || kind === "int" || kind === "uint" || kind === "bool";
}

type JsonObject = Readonly<Record<string, Value | undefined>>;
type AnyMap = MapValue | JsonObject;

/** Own properties only: `constructor` and `__proto__` are ordinary keys. */
export function mapGet(map: AnyMap, key: Value): Value | undefined {
  if (map instanceof MapValue) return map.get(key);
  if (typeof key !== "string" || !Object.hasOwn(map, key)) return undefined;
  return (map as JsonObject)[key];
}

export function mapHas(map: AnyMap, key: Value): boolean {
  if (map instanceof MapValue) return map.has(key);
  return typeof key === "string" && Object.hasOwn(map, key) && (map as JsonObject)[key] !== undefined;
}

export function mapKeys(map: AnyMap): readonly Value[] {
  if (map instanceof MapValue) return map.keys();
  const keys = Object.keys(map);
  // JSON has no undefined, but objects in memory may.
  return keys.some((key) => (map as JsonObject)[key] === undefined) ? keys.filter((key) => mapHas(map, key)) : keys;
}

export function mapSize(map: AnyMap): number {
  return map instanceof MapValue ? map.size : mapKeys(map).length;
}
