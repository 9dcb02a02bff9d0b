/** Fields as documents have them: references by name, and secrets left out; to input and back. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import type { Field, Fields, Issue } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/parse.ts";
import type { Doc } from "../../schema/parse.ts";
import { isObject } from "./document.ts";

/** Stands for a secret that stays as it is: documents need not hold it. */
const unchangedSecret = Object.freeze({ $unchanged: true });

export interface Resolution {
  /** The id of the object that a document calls `name`; what is no name is returned as it is. */
  idOf(name: string): string;
  readonly issues: Issue[];
}

/**
 * `given` as the API takes it: names replaced by ids, secrets that are to stay by what they are in `present`. Of
 * another type than declared, values are left as they are, for the parser to refuse.
 */
export function resolveFields(
  fields: Fields,
  given: JsonObject,
  present: Doc | undefined,
  at: string,
  resolution: Resolution,
): JsonObject {
  const out: Record<string, unknown> = { ...given };
  for (const name in fields) {
    const field = fields[name] as Field;
    const key = inputName(name, field);
    for (const used of field.alias === undefined ? [key] : [key, field.alias]) {
      if (!Object.hasOwn(given, used) || field.internal || field.live) continue;
      out[used] = resolveValue(field, given[used], present?.[key], at + used, resolution);
    }
  }
  return out;
}

function resolveValue(field: Field, given: unknown, present: unknown, path: string, resolution: Resolution): unknown {
  if (isHidden(field) && isDeepStrictEqual(given, unchangedSecret)) {
    if (present !== undefined && present !== null && present !== "") return present;
    resolution.issues.push({ path, message: "cannot stay unchanged: it has no value yet, so give it one" });
    return undefined;
  }
  switch (field.type) {
    case "ref":
      return typeof given === "string" ? resolution.idOf(given) : given;
    case "refList":
      return Array.isArray(given)
        ? given.map((item: unknown) => (typeof item === "string" ? resolution.idOf(item) : item))
        : given;
    case "object":
      if (!isObject(given)) return given;
      return resolveFields(field.fields, given, isObject(present) ? present : undefined, `${path}.`, resolution);
    case "list":
      if (!Array.isArray(given)) return given;
      return given.map((item: unknown, index) => {
        const before = Array.isArray(present) ? (present[index] as unknown) : undefined;
        return resolveValue(field.of, item, before, `${path}[${index}]`, resolution);
      });
    case "map":
      if (!isObject(given)) return given;
      return Object.fromEntries(
        Object.entries(given).map(([key, item]) => {
          const before = isObject(present) ? present[key] : undefined;
          const value = resolveValue(field.of, item, before, `${path}.${key}`, resolution);
          return [field.keysTo ? resolution.idOf(key) : key, value];
        }),
      );
    default:
      return given;
  }
}

/** The inverse of `resolveFields`: what differs from the defaults, as input. */
export function documentFields(fields: Fields, doc: Doc, nameOf: (id: string) => string): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name] as Field;
    if (field.live || field.internal || field.readOnly) continue;
    const key = inputName(name, field);
    const value = doc[key];
    if (value === undefined || (!field.required && isDeepStrictEqual(value, emptyValue(field)))) continue;
    out[key] = documentValue(field, value, nameOf);
  }
  return out;
}

function documentValue(field: Field, value: unknown, nameOf: (id: string) => string): unknown {
  if (value === null) return null;
  if (isHidden(field)) return value === "" ? "" : unchangedSecret;
  switch (field.type) {
    case "ref":
      return nameOf(value as string);
    case "refList":
      return (value as readonly string[]).map(nameOf);
    case "object":
      return documentFields(field.fields, value as Doc, nameOf);
    case "list":
      return (value as readonly unknown[]).map((item) => documentValue(field.of, item, nameOf));
    case "map":
      return Object.fromEntries(
        Object.entries(value as Doc).map(([key, item]) => [
          field.keysTo ? nameOf(key) : key,
          documentValue(field.of, item, nameOf),
        ]),
      );
    default:
      return value;
  }
}

function isHidden(field: Field): boolean {
  return field.secret === true || field.writeOnly === true;
}
