/** Inputs that the declarations accept, for the description of the API and for tests that cover it. */
import type { Field, Fields } from "../schema/fields.ts";
import { inputName } from "../schema/parse.ts";

/** Id that stands for an object of `kind`. */
export type ExampleId = (kind: string) => string;

const placeholder: ExampleId = (kind) => `<id of a ${kind}>`;

/** The required fields and the plain optional ones; for `update`, what can be changed. */
export function exampleInput(
  fields: Fields,
  direction: "create" | "update",
  idOf: ExampleId = placeholder,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal || field.live || field.readOnly) continue;
    if (direction === "update" && field.immutable) continue;
    if (!field.required && field.type !== "string") continue;
    out[inputName(name, field)] = exampleValue(name, field, idOf);
  }
  return out;
}

export function exampleValue(name: string, field: Field, idOf: ExampleId = placeholder): unknown {
  if (field.example !== undefined) return field.example;
  switch (field.type) {
    case "string":
      return field.format?.example ?? `example ${name.replaceAll("_", " ")}`.slice(0, field.maxBytes);
    case "boolean":
      return field.default ?? true;
    case "integer":
    case "number":
      return field.default && field.default >= field.min ? field.default : field.min;
    case "oneOf":
      return field.default ?? field.values.find((value) => value !== "");
    case "timestamp":
      return "2030-01-01T00:00:00Z";
    case "list":
      return [exampleValue(name, field.of, idOf)];
    case "map":
      return {
        [field.keysTo ? idOf(field.keysTo[0] as string) : "app"]: exampleValue("web", field.of, idOf),
      };
    case "object":
      return exampleInput(field.fields, "create", idOf);
    case "ref":
      return idOf(field.to[0] as string);
    case "refList":
      return [idOf(field.to[0] as string)];
    case "children":
      return [];
  }
}
