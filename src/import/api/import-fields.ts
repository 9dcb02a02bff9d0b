/** Converts fields of an API response to fields of a document. Every field with a value gets a line in the report. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import { isSealedField, isStandIn } from "../../schema/concealment.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import type { LineKind } from "../report/report.ts";
import type { Secrets } from "../report/secrets-file.ts";

/** The object whose fields are read. */
export interface FieldReading {
  /** Path such as `https_edge_route.shop`. */
  readonly path: string;
  /** Returns the document's name for the object with this id; undefined if the source does not contain it. */
  nameOf(id: string): string | undefined;
  readonly secrets: Secrets;
  /** Whether an unknown field may protect something. */
  readonly guards: boolean;
  line(key: string, kind: LineKind, text: string, guardsAccess?: boolean): void;
}

export function importFields(fields: Fields, values: JsonObject, at: string, reading: FieldReading): JsonObject {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const key = at + name;
    if (!field) {
      if (!isEmpty(value) && !serverSet.has(key)) reportUnknown(key, value, reading);
      continue;
    }
    if (field.live || field.readOnly || field.internal) continue;
    if (value === null || value === undefined) continue;
    const imported = importValue(field, value, key, reading);
    if (imported === undefined) continue;
    if (!field.required && isDeepStrictEqual(imported, emptyValue(field))) continue;
    out[inputName(name, field)] = imported;
  }
  for (const [name, field] of Object.entries(fields)) {
    // Responses never contain these. Other secrets are absent if they are not set.
    if (!field.writeOnly || !field.required || out[name] !== undefined) continue;
    out[name] = makePlaceholder(at + name, reading);
  }
  return out;
}

const serverSet: ReadonlySet<string> = new Set(["id", "uri", "created_at", "updated_at"]);

function importValue(field: Field, value: unknown, key: string, reading: FieldReading): unknown {
  if (isSealedField(field) && typeof value === "string" && value !== "") {
    if (isStandIn(field, value)) return makePlaceholder(key, reading);
    if (field.secret) {
      reading.line(key, "mapped", "its value is in secrets.env");
      return reading.secrets.add([reading.path, key], `${reading.path}.${key}`, value);
    }
  }
  switch (field.type) {
    case "ref":
      return readReference(value, key, reading);
    case "refList":
      return Array.isArray(value)
        ? value.map((item, index) => readReference(item, `${key}[${index}]`, reading))
        : undefined;
    case "object":
      if (!isMap(value)) return undefined;
      return withLine(importFields(field.fields, value, `${key}.`, reading), key, reading);
    case "list":
      if (!Array.isArray(value) || !isMap(value[0]) || field.of.type !== "object") break;
      return value.map((item: unknown, index) =>
        importFields(
          (field.of as { readonly fields: Fields }).fields,
          item as JsonObject,
          `${key}[${index}].`,
          reading,
        ),
      );
    case "map":
      if (!isMap(value) || !field.keysTo) break;
      return withLine(
        Object.fromEntries(
          Object.entries(value).map(([id, weight]) => [readReference(id, `${key}.${id}`, reading), weight]),
        ),
        key,
        reading,
      );
    default:
  }
  if (typeof field.sensitive === "object" && typeof value === "string") {
    const ids = field.sensitive.mentions?.(value) ?? [];
    if (ids.length > 0) {
      const text = `the text refers to ${ids.join(", ")}, and the objects here have other ids. Replace them after the first apply`;
      reading.line(key, "mapped differently", text);
      return value;
    }
  }
  if (!isDeepStrictEqual(value, emptyValue(field)) || field.required)
    reading.line(key, "mapped", `${reading.path}.${key}`);
  return value;
}

/** A module without fields, such as compression, is still a setting. */
function withLine<T extends JsonObject>(value: T, key: string, reading: FieldReading): T {
  reading.line(key, "mapped", `${reading.path}.${key}`);
  return value;
}

function readReference(value: unknown, key: string, reading: FieldReading): string {
  const id = isMap(value) ? String(value["id"]) : String(value);
  const name = reading.nameOf(id);
  if (name === undefined) {
    const what = "refers to an object that the source does not contain. Add the object, or remove the reference";
    // The reference stays in the document, so that `plan` refuses it and nothing becomes public by accident.
    reading.line(key, "mapped differently", `"${id}" ${what}`);
    return id;
  }
  reading.line(key, "mapped", `${reading.path}.${key}: ${name}`);
  return name;
}

function makePlaceholder(key: string, { path, secrets, line }: FieldReading): unknown {
  const reference = secrets.add([path, key], `${path}.${key}`);
  line(key, "mapped differently", `the source does not reveal the value: set ${reference.$env} in secrets.env`);
  return reference;
}

function reportUnknown(key: string, value: unknown, { guards, line }: FieldReading): void {
  const shown = typeof value === "object" ? "" : " has a value, but";
  line(key, "left out", `the field${shown} is unknown to this server. Check what it does, and set it up again`, guards);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.every(isEmpty);
  return isMap(value) && Object.values(value).every(isEmpty);
}

function isMap(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
