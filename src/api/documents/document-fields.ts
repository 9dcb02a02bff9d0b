/** Converts fields between documents and API input. Documents use names as references and omit secrets. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import { concealValue, holdsSecret, isSealedField, isStandIn } from "../../schema/concealment.ts";
import type { Field, Fields, Issue } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { isJsonObject } from "../../lib/json.ts";

/** Placeholder for an unchanged secret, so that documents need not contain it. */
const unchangedSecret = Object.freeze({ $unchanged: true });

export interface Resolution {
  /** Returns the id of the object that a document calls `name`. Other texts are returned unchanged. */
  idOf(name: string): string;
  /** Whether the caller may read secrets. */
  readonly seesSecrets: boolean;
  readonly issues: Issue[];
}

/**
 * Converts `given` to API input: replaces names by ids, and placeholders of unchanged secrets by the values in
 * `present`. Values of the wrong type are left for the parser to reject.
 */
export function resolveFields(
  fields: Fields,
  fieldsOfEntry: JsonObject,
  present: Doc | undefined,
  at: string,
  resolution: Resolution,
): JsonObject {
  const out: Record<string, unknown> = { ...fieldsOfEntry };
  for (const name in fields) {
    const field = fields[name] as Field;
    const key = inputName(name, field);
    for (const used of field.alias === undefined ? [key] : [key, field.alias]) {
      if (!Object.hasOwn(fieldsOfEntry, used) || field.internal || field.live) continue;
      out[used] = resolveValue(field, fieldsOfEntry[used], present?.[key], at + used, resolution);
    }
  }
  return out;
}

/**
 * The fields beside a secret determine where it is sent. A key that may not read the secret must not change them and
 * keep the secret, because it could then receive the secret.
 */
function checkKeptBeside(
  fields: Fields,
  fieldsOfEntry: JsonObject,
  present: Doc | undefined,
  at: string,
  { seesSecrets, issues }: Resolution,
): void {
  if (seesSecrets || !present) return;
  const isKept = (name: string): boolean => isDeepStrictEqual(fieldsOfEntry[name], unchangedSecret);
  const kept = Object.keys(fields).find((name) => fields[name]?.secret && isKept(name));
  if (kept === undefined) return;
  for (const [name, field] of Object.entries(fields)) {
    if (field.type !== "string" || isKept(name)) continue;
    const value = fieldsOfEntry[name] ?? emptyValue(field);
    if (value === present[name] || (isSealedField(field) && concealValue(field, present[name]) === value)) continue;
    const message = `cannot stay unchanged while "${name}" changes: the key may not read secrets, so set a new one`;
    issues.push({ path: `${at}.${kept}`, message });
    return;
  }
}

function resolveValue(field: Field, value: unknown, present: unknown, path: string, resolution: Resolution): unknown {
  if (isHidden(field) && isDeepStrictEqual(value, unchangedSecret)) {
    if (present !== undefined && present !== null && present !== "") return present;
    resolution.issues.push({ path, message: "cannot stay unchanged because it has no value yet: set one" });
    return undefined;
  }
  switch (field.type) {
    case "ref":
      return typeof value === "string" ? resolution.idOf(value) : value;
    case "refList":
      return Array.isArray(value)
        ? value.map((item: unknown) => (typeof item === "string" ? resolution.idOf(item) : item))
        : value;
    case "object":
      if (!isJsonObject(value)) return value;
      checkKeptBeside(field.fields, value, isJsonObject(present) ? present : undefined, path, resolution);
      return resolveFields(field.fields, value, isJsonObject(present) ? present : undefined, `${path}.`, resolution);
    case "list":
      if (!Array.isArray(value)) return value;
      return value.map((item: unknown, index) => {
        const before = Array.isArray(present) ? (present[index] as unknown) : undefined;
        return resolveValue(field.of, item, before, `${path}[${index}]`, resolution);
      });
    case "map":
      if (!isJsonObject(value)) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => {
          const before = isJsonObject(present) ? present[key] : undefined;
          const value = resolveValue(field.of, item, before, `${path}.${key}`, resolution);
          return [field.keysTo ? resolution.idOf(key) : key, value];
        }),
      );
    default:
      return value;
  }
}

/** How to write an account's objects to a document. */
export interface Writing {
  nameOf(id: string): string;
  /** Whether the reader may see values that may contain a secret. */
  readonly seesSecrets: boolean;
  /** Whether to write all readable values, including secrets. If not, secrets are omitted. */
  readonly writesSecrets: boolean;
}

/** Inverse of `resolveFields`. Returns the fields that differ from their defaults, as input. */
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
    return concealValue(field, value);
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
 * Returns the paths of secrets, and of values that may contain secrets, that `given` sets itself. Unchanged values are
 * excluded. For values in a list or map, returns the path of the list or map.
 */
export function findGivenSecrets(fields: Fields, input: JsonObject, at = ""): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const key = inputName(name, field);
    const value = input[key] ?? (field.alias === undefined ? undefined : input[field.alias]);
    if (value === undefined || field.live || field.internal) return [];
    if (field.type === "object" && isJsonObject(value)) return findGivenSecrets(field.fields, value, `${at}${key}.`);
    return containsSecret(field, value) ? [at + key] : [];
  });
}

function containsSecret(field: Field, value: unknown): boolean {
  if (isSealedField(field)) return typeof value === "string" && !isStandIn(field, value);
  if (field.type === "object") return isJsonObject(value) && findGivenSecrets(field.fields, value).length > 0;
  if (field.type !== "list" && field.type !== "map") return false;
  return isJsonObject(value) || Array.isArray(value)
    ? Object.values(value).some((item) => containsSecret(field.of, item))
    : false;
}

function isHidden(field: Field): boolean {
  return field.secret === true || field.writeOnly === true;
}
