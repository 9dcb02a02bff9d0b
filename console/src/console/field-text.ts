/** Formats an object's fields as text that can be compared line by line. */
import type { Json, JsonObject } from "./api.ts";
import type { Description, Schema } from "./description.ts";

/** Hides secrets, but shows which of them are new. */
export function concealSecrets(value: Json, known: Json | undefined, schema: Schema, description: Description): Json {
  if (schema["x-secret"] && typeof value === "string" && value !== "")
    return known === undefined || value === known ? "(secret)" : "(another secret)";
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const before = Array.isArray(known) ? (known as readonly Json[]) : [];
    const of = description.resolve(schema.items ?? {});
    return (value as readonly Json[]).map((one, at) => concealSecrets(one, before[at], of, description));
  }
  const before = (typeof known === "object" && known !== null ? known : {}) as JsonObject;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, one]) => {
      const field =
        schema.properties?.[name] ??
        (typeof schema.additionalProperties === "object" ? schema.additionalProperties : {});
      return [name, concealSecrets(one, before[name], description.resolve(field), description)];
    }),
  );
}

export function textOf(fields: JsonObject | undefined): string {
  return fields ? linesOf(fields, "").join("\n") : "";
}

/** Formats a value like YAML, for reading only. */
function linesOf(value: Json, indent: string): string[] {
  if (typeof value !== "object" || value === null) return [`${indent}${JSON.stringify(value)}`];
  const entries = Array.isArray(value)
    ? (value as readonly Json[]).map((one) => ["-", one] as const)
    : Object.entries(value as JsonObject).map(([name, one]) => [`${name}:`, one] as const);
  return entries.flatMap(([name, one]) => {
    const isEmpty = typeof one === "object" && one !== null && Object.keys(one).length === 0;
    if (typeof one !== "object" || one === null || isEmpty) return [`${indent}${name} ${JSON.stringify(one)}`];
    return [`${indent}${name}`, ...linesOf(one, `${indent}  `)];
  });
}
