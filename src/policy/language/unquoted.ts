/**
 * Texts that the author of a policy did not quote. YAML reads `x-version: 1.10` as a number and `x-debug: true` as a
 * boolean. If an action needs a text, it gets the characters that the author wrote: "1.10", not "1.1".
 */
import type { Field, Fields } from "../../schema/fields.ts";
import { isJsonObject } from "../../lib/json.ts";

/** The JSON types that YAML reads such texts as. */
export const unquotedTypes: readonly string[] = ["string", "number", "boolean"];

type Keys = readonly (string | number)[];
type Written = (keys: Keys) => string | undefined;
type Config = Readonly<Record<string, unknown>>;

/** @param written the characters of the scalar at a place of the policy */
export function textsAsWritten(fields: Fields, given: Config, keys: Keys, written: Written): Config {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = fieldNamed(fields, name);
      return [name, field ? valueAsWritten(field, value, [...keys, name], written) : value];
    }),
  );
}

function fieldNamed(fields: Fields, name: string): Field | undefined {
  if (Object.hasOwn(fields, name)) return fields[name];
  return Object.values(fields).find(({ alias }) => alias === name);
}

/** Lists and maps that are too long stay as they are: parsing rejects them, so their values need no lookup. */
function valueAsWritten(field: Field, value: unknown, keys: Keys, written: Written): unknown {
  if (field.type === "string")
    return isJsonObject(value) ? partsAsWritten(value, keys, written) : readScalar(value, keys, written);
  if (field.type === "list" && Array.isArray(value) && value.length <= field.maxItems) {
    return value.map((item: unknown, at) => valueAsWritten(field.of, item, [...keys, at], written));
  }
  if (!isJsonObject(value)) return value;
  if (field.type === "object") return textsAsWritten(field.fields, value, keys, written);
  if (field.type !== "map" || Object.keys(value).length > field.maxItems) return value;
  return mapConfig(value, (name, inner) => valueAsWritten(field.of, inner, [...keys, name], written));
}

/** Handles an object in the place of a text, such as a user name with a password. */
function partsAsWritten(value: Config, keys: Keys, written: Written): Config {
  if (Object.keys(value).length > maxParts) return value;
  return mapConfig(value, (name, inner) => readScalar(inner, [...keys, name], written));
}

const maxParts = 2;

function readScalar(value: unknown, keys: Keys, written: Written): unknown {
  return typeof value === "number" || typeof value === "boolean" ? (written(keys) ?? value) : value;
}

function mapConfig(value: Config, read: (name: string, inner: unknown) => unknown): Config {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, read(name, inner)]));
}
