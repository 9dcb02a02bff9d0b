/** Fields as documents have them: references by name, and secrets left out; to input and back. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import { concealed, holdsSecret, isSealedField, isStandIn } from "../../schema/concealment.ts";
import type { Field, Fields, Issue } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { isObject } from "./document.ts";

/** Stands for a secret that stays as it is: documents need not hold it. */
const unchangedSecret = Object.freeze({ $unchanged: true });

export interface Resolution {
  /** The id of the object that a document calls `name`; what is no name is returned as it is. */
  idOf(name: string): string;
  /** Whether the caller may read secrets. */
  readonly seesSecrets: boolean;
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

/**
 * What is beside a secret says where it is sent. Who may not read it does not change that and keep the secret: it would
 * be sent to him.
 */
function checkKeptBeside(
  fields: Fields,
  given: JsonObject,
  present: Doc | undefined,
  at: string,
  { seesSecrets, issues }: Resolution,
): void {
  if (seesSecrets || !present) return;
  const isKept = (name: string): boolean => isDeepStrictEqual(given[name], unchangedSecret);
  const kept = Object.keys(fields).find((name) => fields[name]?.secret && isKept(name));
  if (kept === undefined) return;
  for (const [name, field] of Object.entries(fields)) {
    if (field.type !== "string" || isKept(name)) continue;
    const value = given[name] ?? emptyValue(field);
    if (value === present[name] || (isSealedField(field) && concealed(field, present[name]) === value)) continue;
    const message = `cannot stay unchanged while "${name}" changes: the key may not read secrets, so set a new one`;
    issues.push({ path: `${at}.${kept}`, message });
    return;
  }
}

function resolveValue(field: Field, given: unknown, present: unknown, path: string, resolution: Resolution): unknown {
  if (isHidden(field) && isDeepStrictEqual(given, unchangedSecret)) {
    if (present !== undefined && present !== null && present !== "") return present;
    resolution.issues.push({ path, message: "cannot stay unchanged because it has no value yet: set one" });
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
      checkKeptBeside(field.fields, given, isObject(present) ? present : undefined, path, resolution);
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

/** How an account's objects are written down. */
export interface Writing {
  nameOf(id: string): string;
  /** Whether the reader may see what may hold a secret. */
  readonly seesSecrets: boolean;
  /** Whether what can be read is written out, secrets too; else none of it is. */
  readonly writesSecrets: boolean;
}

/** The inverse of `resolveFields`: what differs from the defaults, as input. */
export function documentFields(fields: Fields, doc: Doc, writing: Writing): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name] as Field;
    if (field.live || field.internal || field.readOnly) continue;
    const key = inputName(name, field);
    const value = doc[key];
    if (value === undefined || (!field.required && isDeepStrictEqual(value, emptyValue(field)))) continue;
    out[key] = documentValue(field, value, writing);
  }
  return out;
}

function documentValue(field: Field, value: unknown, writing: Writing): unknown {
  if (value === null) return null;
  if (field.writeOnly || (field.secret && !writing.writesSecrets)) return value === "" ? "" : unchangedSecret;
  if (field.sensitive && (!writing.seesSecrets || (!writing.writesSecrets && holdsSecret(field, value)))) {
    return concealed(field, value);
  }
  const { nameOf } = writing;
  switch (field.type) {
    case "ref":
      return nameOf(value as string);
    case "refList":
      return (value as readonly string[]).map(nameOf);
    case "object":
      return documentFields(field.fields, value as Doc, writing);
    case "list":
      return (value as readonly unknown[]).map((item) => documentValue(field.of, item, writing));
    case "map":
      return Object.fromEntries(
        Object.entries(value as Doc).map(([key, item]) => [
          field.keysTo ? nameOf(key) : key,
          documentValue(field.of, item, writing),
        ]),
      );
    default:
      return value;
  }
}

/**
 * Paths of the secrets, and of what may hold one, that `given` has values of its own for: not those that stay as they
 * are. Of what is inside a list or a map, its path.
 */
export function givenSecrets(fields: Fields, given: JsonObject, at = ""): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const key = inputName(name, field);
    const value = given[key] ?? (field.alias === undefined ? undefined : given[field.alias]);
    if (value === undefined || field.live || field.internal) return [];
    if (field.type === "object" && isObject(value)) return givenSecrets(field.fields, value, `${at}${key}.`);
    return givesSecret(field, value) ? [at + key] : [];
  });
}

function givesSecret(field: Field, value: unknown): boolean {
  if (isSealedField(field)) return typeof value === "string" && !isStandIn(field, value);
  if (field.type === "object") return isObject(value) && givenSecrets(field.fields, value).length > 0;
  if (field.type !== "list" && field.type !== "map") return false;
  return isObject(value) || Array.isArray(value)
    ? Object.values(value).some((item) => givesSecret(field.of, item))
    : false;
}

function isHidden(field: Field): boolean {
  return field.secret === true || field.writeOnly === true;
}
