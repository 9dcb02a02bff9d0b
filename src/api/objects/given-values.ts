/** Finds the concealed values that a call sends itself. */
import type { JsonObject } from "../../lib/json.ts";
import { isSealedField, isStandIn } from "../../schema/concealment.ts";
import { inputName } from "../../schema/doc.ts";
import type { Field, Fields } from "../../schema/fields.ts";

/** Returns the paths of concealed values that `input` contains, without placeholders for present values. */
export function listGivenValues(fields: Fields, input: JsonObject): ReadonlySet<string> {
  return new Set(
    Object.entries(fields).flatMap(([name, field]) => {
      const key = inputName(name, field);
      return Object.hasOwn(input, key) ? pathsOf(field, input[key], key) : [];
    }),
  );
}

function pathsOf(field: Field, value: unknown, path: string): string[] {
  if (isSealedField(field)) return typeof value === "string" && !isStandIn(field, value) ? [path] : [];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  if (field.type === "object")
    return [...listGivenValues(field.fields, value as JsonObject)].map((one) => `${path}.${one}`);
  if (field.type !== "map") return [];
  return Object.entries(value).flatMap(([name, one]) => pathsOf(field.of, one, `${path}.${name}`));
}
