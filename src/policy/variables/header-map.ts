import { MapValue } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";

/** Header fields as a map of lists, built on request. Names are lower case, and lookups are case-insensitive. */
export class HeaderMap extends MapValue {
  readonly #fields: HeaderFields;

  constructor(fields: HeaderFields) {
    super();
    this.#fields = fields;
  }

  override get size(): number {
    return this.keys().length;
  }

  override get(key: Value): Value | undefined {
    return typeof key === "string" ? listValues(this.#fields, key) : undefined;
  }

  override has(key: Value): boolean {
    return typeof key === "string" && this.#fields.has(key);
  }

  override keys(): readonly Value[] {
    return [...new Set(this.#fields.entries().map(([name]) => name.toLowerCase()))];
  }
}

/** Returns the values of one name; undefined if there are none. */
export function listValues(fields: HeaderFields, name: string): Value | undefined {
  return fields.has(name) ? fields.getAll(name) : undefined;
}

/** Lists by name, in order. */
export class ListMap extends MapValue {
  readonly #lists: ReadonlyMap<string, readonly Value[]>;

  constructor(lists: ReadonlyMap<string, readonly Value[]>) {
    super();
    this.#lists = lists;
  }

  override get size(): number {
    return this.#lists.size;
  }

  override get(key: Value): Value | undefined {
    return this.#lists.get(key as string);
  }

  override has(key: Value): boolean {
    return this.#lists.has(key as string);
  }

  override keys(): readonly Value[] {
    return [...this.#lists.keys()];
  }
}
