/** What the parts of a filter are, known from the resource's declaration before any object is looked at. */
import type { Field, Fields } from "../../schema/fields.ts";

export type Type =
  | { readonly is: "boolean" | "number" | "string" | "null" }
  | { readonly is: "list" | "map"; readonly of: Type }
  | { readonly is: "object"; readonly fields: Readonly<Record<string, Type>> };

const text: Type = { is: "string" };

/**
 * What `obj` is: the fields that clients see, but no secrets, and no other objects inside; what may hold a secret only
 * for those who may read them.
 */
export function typeOfObject(fields: Fields, isLive: boolean, isSensitiveSeen = true): Type {
  const identity = { id: text, uri: text, ...(!isLive && { created_at: text }) };
  return { is: "object", fields: { ...identity, ...typesOf(fields, isSensitiveSeen) } };
}

function typesOf(fields: Fields, isSensitiveSeen: boolean): Record<string, Type> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const type = typeOf(field, isSensitiveSeen);
      return type ? [[name, type]] : [];
    }),
  );
}

function typeOf(field: Field, isSensitiveSeen: boolean): Type | undefined {
  // A condition on a value tells it bit by bit.
  if (field.sensitive && !isSensitiveSeen) return undefined;
  if (field.internal || field.writeOnly || field.secret) return undefined;
  switch (field.type) {
    case "string":
    case "oneOf":
    case "timestamp":
      return text;
    case "boolean":
      return { is: "boolean" };
    case "integer":
    case "number":
      return { is: "number" };
    case "ref":
      return field.bare ? text : { is: "object", fields: { id: text, uri: text } };
    case "refList":
      return { is: "list", of: text };
    case "object":
      return { is: "object", fields: typesOf(field.fields, isSensitiveSeen) };
    case "list":
    case "map": {
      const of = typeOf(field.of, isSensitiveSeen);
      return of && { is: field.type, of };
    }
    case "children":
      return undefined;
  }
}

/** For messages. */
export function nameOf(type: Type): string {
  switch (type.is) {
    case "null":
      return "null";
    case "list":
      return "a list";
    case "map":
      return "a map";
    case "object":
      return "an object";
    default:
      return `a ${type.is}`;
  }
}
