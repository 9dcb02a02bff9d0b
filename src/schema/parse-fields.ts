/** Converts unknown input to a complete document, and reports every issue with its field path. */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { formatTimestamp } from "../lib/clock.ts";
import { parseTime } from "../lib/rfc3339.ts";
import type {
  Field,
  Fields,
  Issue,
  ListField,
  MapField,
  NullableStringField,
  ObjectField,
  RefListField,
  StringField,
  TimestampField,
} from "./fields.ts";
import { emptyValue, inputName } from "./doc.ts";
import type { Doc } from "./doc.ts";
import { concealValue, isSealedField, isStandIn, secretMask } from "./concealment.ts";
import { addIssue, checkRules, maxShown, renderValue, addWrong } from "./issues.ts";
import { isJsonObject } from "../lib/json.ts";

/** Purpose of the input: a new object, a change of some fields, or a whole module. */
export type Mode = "create" | "update" | "replace";

export interface Parsed {
  /** Complete according to `fields` if there are no issues. */
  readonly doc: Doc;
  readonly issues: readonly Issue[];
}

/**
 * Parses `body` according to `fields`. With `update`, absent fields keep their value from `previous`; otherwise they
 * get their default. `null` unsets a field. Top-level names in `ignored` are accepted and dropped.
 */
export function parseFields(
  fields: Fields,
  body: Readonly<Record<string, unknown>>,
  mode: Mode,
  previous?: Doc,
  ignored: ReadonlySet<string> = noNames,
): Parsed {
  const issues: Issue[] = [];
  const doc = readFields(fields, body, mode, previous, ignored, "", issues);
  return { doc, issues };
}

const noNames: ReadonlySet<string> = new Set();

function readFields(
  fields: Fields,
  body: Readonly<Record<string, unknown>>,
  mode: Mode,
  previous: Doc | undefined,
  ignored: ReadonlySet<string>,
  at: string,
  issues: Issue[],
): Record<string, unknown> {
  const doc: Record<string, unknown> = {};
  const known = inputNames(fields);
  for (const value of Object.keys(body)) {
    if (known.has(value) || ignored.has(value)) continue;
    const names = [...known].filter((name) => isWritable(fields, name)).join(", ");
    addIssue(issues, { path: at + value, message: `is unknown; known are: ${names}`, reason: "unknown_field" });
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.live) continue;
    const key = inputName(name, field);
    if (field.internal || field.readOnly) {
      doc[key] = previous && key in previous ? previous[key] : emptyValue(field);
      continue;
    }
    const value = readGivenValue(body, key, field);
    const path = at + key;
    if (isContradicted(body, key, field)) {
      addIssue(issues, {
        path,
        message: `and "${field.alias}" are two names of the same field, but have different values`,
      });
    }
    if (value === undefined) {
      if (mode === "update" && previous) doc[key] = previous[key];
      else if (field.required) addIssue(issues, { path, message: "is required" });
      else doc[key] = defaultValue(field, path, issues);
    } else if (mode === "update" && previous && field.keepIfEmpty && isEmpty(field, value)) {
      doc[key] = previous[key];
    } else if (mode === "update" && field.immutable) {
      addIssue(issues, { path, message: "can be set only when the object is created" });
    } else {
      doc[key] = readValue(field, value, path, issues, previous?.[key]);
    }
  }
  return doc;
}

const namesOf = new WeakMap<Fields, ReadonlySet<string>>();

/** All accepted input names, including aliases and ignored ones. */
function inputNames(fields: Fields): ReadonlySet<string> {
  let names = namesOf.get(fields);
  if (!names) {
    names = new Set(
      Object.entries(fields).flatMap(([name, field]) =>
        field.internal ? [] : [inputName(name, field), ...(field.alias ? [field.alias] : [])],
      ),
    );
    namesOf.set(fields, names);
  }
  return names;
}

function isWritable(fields: Fields, input: string): boolean {
  return Object.entries(fields).some(
    ([name, field]) => inputName(name, field) === input && !field.live && !field.readOnly,
  );
}

function readGivenValue(body: Readonly<Record<string, unknown>>, key: string, field: Field): unknown {
  if (Object.hasOwn(body, key)) return body[key];
  return field.alias !== undefined && Object.hasOwn(body, field.alias) ? body[field.alias] : undefined;
}

function isContradicted(body: Readonly<Record<string, unknown>>, key: string, { alias }: Field): boolean {
  if (alias === undefined || !Object.hasOwn(body, alias) || !Object.hasOwn(body, key)) return false;
  return !isDeepStrictEqual(body[key], body[alias]);
}

/** Whether `value` is null, or the empty value of the field's own type. Another type's empty value is an error. */
function isEmpty({ type }: Field, value: unknown): boolean {
  if (value === null) return true;
  if (type === "list" || type === "refList") return Array.isArray(value) && value.length === 0;
  if (type === "map" || type === "object") return isJsonObject(value) && Object.keys(value).length === 0;
  return value === (type === "integer" || type === "number" ? 0 : "");
}

function defaultValue(field: Field, path: string, issues: Issue[]): unknown {
  if (field.type === "object" && field.default === undefined && !field.nullable) {
    return readFields(field.fields, {}, "create", undefined, noNames, `${path}.`, issues);
  }
  return emptyValue(field);
}

function readValue(field: Field, value: unknown, path: string, issues: Issue[], previous?: unknown): unknown {
  if (value === null) {
    if (field.nullable) return null;
    if (field.required) addIssue(issues, { path, message: "is required and cannot be null" });
    return field.required ? undefined : defaultValue(field, path, issues);
  }
  if (isSealedField(field) && typeof value === "string" && value !== previous) {
    const kept = restoreMasked(field, value, path, issues, previous);
    if (kept !== value) return kept;
  }
  switch (field.type) {
    case "string":
      return readString(field, value, path, issues);
    case "boolean":
      return typeof value === "boolean" ? value : addWrong(field, "must be true or false", value, path, issues);
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value))
        return addWrong(field, "must be a whole number", value, path, issues);
      if (value === 0 && field.zeroIsUnset) return field.default;
      return inRange(field, value, path, issues);
    case "number":
      if (typeof value !== "number") return addWrong(field, "must be a number", value, path, issues);
      return inRange(field, value, path, issues);
    case "oneOf":
      if (typeof value !== "string") return addWrong(field, "must be a string", value, path, issues);
      if (value === "" && !field.required && !field.values.includes("")) return emptyValue(field);
      if (field.values.includes(value)) return value;
      return addWrong(field, `must be one of ${field.values.join(", ")}`, value, path, issues);
    case "timestamp":
      if (value === "") return null;
      return readTime(field, value, path, issues);
    case "list":
      return readList(field, value, path, issues);
    case "map":
      return readMap(field, value, path, issues, previous);
    case "object":
      return readObject(field, value, path, issues, previous);
    case "ref":
      if (typeof value !== "string") return addWrong(field, "must be an id", value, path, issues);
      if (value === "" && field.required) return addWrong(field, "must be an id", value, path, issues);
      return value === "" ? null : readId(value, path, issues);
    case "refList":
      return readRefList(field, value, path, issues);
    case "children":
      return undefined;
  }
}

function readTime(field: TimestampField, value: unknown, path: string, issues: Issue[]): string | undefined {
  const ms = typeof value === "string" ? parseTime(value) : undefined;
  if (ms !== undefined) return formatTimestamp(ms);
  return addWrong(field, "must be a time of the calendar in RFC 3339 format", value, path, issues);
}

/**
 * The masked form of a value is never stored. For a field that may contain a secret, the unchanged masked form means
 * the present value. A secret itself must be sent again, because its neighbouring fields decide where it is sent.
 */
function restoreMasked(field: Field, value: string, path: string, issues: Issue[], previous: unknown): unknown {
  if (!isStandIn(field, value)) return value;
  const isKept = field.sensitive && typeof previous === "string" && previous !== "";
  if (isKept && concealValue(field, previous) === value) return previous;
  const message = `must be the real value: "${secretMask}" is a placeholder for a hidden secret`;
  addIssue(issues, { path, message });
  return undefined;
}

function readString(field: StringField | NullableStringField, value: unknown, path: string, issues: Issue[]): unknown {
  if (typeof value !== "string") return addWrong(field, "must be a string", value, path, issues);
  const bytes = Buffer.byteLength(value);
  if (bytes > field.maxBytes) {
    addIssue(issues, { path, message: `must be at most ${field.maxBytes} bytes, is ${bytes} bytes` });
    return undefined;
  }
  if (value === "" && !field.required && !field.minBytes) return field.nullable ? null : value;
  const least = field.minBytes ?? (field.required ? 1 : 0);
  if (bytes < least) {
    const problem = least === 1 ? "must not be empty" : `must be at least ${least} bytes, is ${bytes} bytes`;
    addIssue(issues, { path, message: problem, ...(field.format?.reason && { reason: field.format.reason }) });
    return undefined;
  }
  const problem = field.format?.check(value);
  if (problem === undefined) return field.format?.normalize?.(value) ?? value;
  return addWrong(field, `must ${problem}`, value, path, issues, field.format?.reason);
}

function inRange(
  field: Field & { readonly min: number; readonly max: number },
  value: number,
  path: string,
  issues: Issue[],
): unknown {
  if (value >= field.min && value <= field.max) return value === 0 ? 0 : value;
  return addWrong(field, `must be from ${field.min} to ${field.max}`, value, path, issues);
}

function readList(field: ListField, value: unknown, path: string, issues: Issue[]): unknown {
  if (!Array.isArray(value)) return addWrong(field, "must be a list", value, path, issues);
  if (!countIsRight(field, value.length, path, issues)) return undefined;
  const values = value.map((item: unknown, index) => {
    const itemPath = `${path}[${index}]`;
    if (item !== null || field.of.nullable) return readValue({ ...field.of, required: true }, item, itemPath, issues);
    addIssue(issues, { path: itemPath, message: "must not be null" });
    return undefined;
  });
  if (field.unique) noneTwice(values, path, issues);
  return values;
}

function readRefList(field: RefListField, value: unknown, path: string, issues: Issue[]): unknown {
  if (!Array.isArray(value)) return addWrong(field, "must be a list of ids", value, path, issues);
  if (!countIsRight(field, value.length, path, issues)) return undefined;
  const ids = value.map((item: unknown, index) =>
    typeof item === "string" && item !== ""
      ? readId(item, `${path}[${index}]`, issues)
      : addWrong(field, "must be an id", item, `${path}[${index}]`, issues),
  );
  noneTwice(ids, path, issues);
  return ids;
}

function noneTwice(values: readonly unknown[], path: string, issues: Issue[]): void {
  const seen = new Set<unknown>();
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    if (seen.has(value))
      addIssue(issues, { path: `${path}[${index}]`, message: `must not repeat ${renderValue(value)}` });
    seen.add(value);
  }
}

function readMap(field: MapField, value: unknown, path: string, issues: Issue[], previous: unknown): unknown {
  if (!isJsonObject(value)) return addWrong(field, "must be an object", value, path, issues);
  const entries = Object.entries(value);
  if (!countIsRight(field, entries.length, path, issues)) return undefined;
  const map: Record<string, unknown> = {};
  const kept = isJsonObject(previous) ? previous : {};
  for (const [key, item] of entries) {
    const itemPath = `${path}.${key.slice(0, maxShown)}`;
    const name = readString({ ...field.key, required: true }, key, itemPath, issues);
    const value =
      item === null && !field.of.nullable
        ? addWrong(field.of, "must not be null", item, itemPath, issues)
        : readValue(field.of, item, itemPath, issues, typeof name === "string" ? kept[name] : undefined);
    if (typeof name !== "string") continue;
    if (Object.hasOwn(map, name)) addIssue(issues, { path: itemPath, message: `must not repeat ${renderValue(name)}` });
    map[name] = value;
  }
  return map;
}

/** Replaces the whole object. Only server-set fields are taken from `previous`. */
function readObject(field: ObjectField, given: unknown, path: string, issues: Issue[], previous: unknown): unknown {
  if (!isJsonObject(given)) return addWrong(field, "must be an object", given, path, issues);
  const before = issues.length;
  const kept = isJsonObject(previous) ? previous : undefined;
  const value = readFields(field.fields, given, "replace", kept, noNames, `${path}.`, issues);
  if (issues.length === before) checkRules(field.rules ?? [], value, path, issues);
  return value;
}

function countIsRight(
  field: { readonly maxItems: number; readonly minItems?: number },
  count: number,
  path: string,
  issues: Issue[],
): boolean {
  if (count > field.maxItems) addIssue(issues, { path, message: `must have at most ${field.maxItems}, has ${count}` });
  else if (count < (field.minItems ?? 0))
    addIssue(issues, { path, message: `must have at least ${field.minItems}, has ${count}` });
  else return true;
  return false;
}

function readId(id: string, path: string, issues: Issue[]): string | undefined {
  if (Buffer.byteLength(id) <= 255) return id;
  addIssue(issues, { path, message: "must be an id, is longer than 255 bytes" });
  return undefined;
}
