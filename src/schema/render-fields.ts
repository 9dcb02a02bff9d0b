/** Converts a stored document to the client's view: references become Refs, and every field is present. */
import { concealValue, isSealedField } from "./concealment.ts";
import type { Field, Fields } from "./fields.ts";
import { emptyValue, inputName } from "./doc.ts";
import type { Doc } from "./doc.ts";

interface Ref {
  readonly id: string;
  readonly uri: string;
}

export interface RenderContext {
  /** The absolute URI of an object, or "" if it has none. */
  uriOf(id: string): string;
  /** The rendered objects of `kind` that the object owns. */
  children(kind: string): readonly unknown[];
  /** Values of live fields by input name. Nested ones are functions of their parent. */
  readonly live: Doc;
  /** Whether to mask secrets and values that may contain one. */
  readonly redact: boolean;
}

export function renderFields(fields: Fields, doc: Doc, context: RenderContext): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name] as Field;
    if (field.internal || field.writeOnly) continue;
    if (field.type === "children") {
      out[name] = context.children(field.kind);
      continue;
    }
    const key = inputName(name, field);
    const value = field.live ? liveValue(context.live[key], doc) : doc[key];
    out[name] =
      value === undefined ? renderValue(field, emptyValue(field), context) : renderValue(field, value, context);
  }
  return out;
}

function liveValue(value: unknown, doc: Doc): unknown {
  return typeof value === "function" ? (value as (doc: Doc) => unknown)(doc) : value;
}

function renderValue(field: Field, value: unknown, context: RenderContext): unknown {
  if (value === null) return null;
  if (context.redact && isSealedField(field)) return concealValue(field, value);
  switch (field.type) {
    case "ref":
      return field.bare ? value : makeRef(value as string, context);
    case "refList":
      return field.bare ? value : (value as readonly string[]).map((id) => makeRef(id, context));
    case "object":
      return renderFields(field.fields, value as Doc, context);
    case "list":
      return isPlain(field.of)
        ? value
        : (value as readonly unknown[]).map((item) => renderValue(field.of, item, context));
    case "map":
      return isPlain(field.of)
        ? value
        : Object.fromEntries(
            Object.entries(value as Doc).map(([key, item]) => [key, renderValue(field.of, item, context)]),
          );
    default:
      return value;
  }
}

function isPlain(field: Field): boolean {
  return !isSealedField(field) && field.type !== "object" && field.type !== "ref" && field.type !== "list";
}

function makeRef(id: string, context: RenderContext): Ref {
  return { id, uri: context.uriOf(id) };
}
