/** What the generated tests send: inputs that the declarations accept, and ones that they must refuse. */
import type { Field, Fields } from "../../src/schema/fields.ts";
import { exampleValue } from "../../src/api/examples.ts";
import { inputName } from "../../src/schema/parse.ts";

export interface BadInput {
  /** What is wrong, for the name of the test. */
  readonly what: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One input for each way in which each field of `good` can be wrong. */
export function badInputs(
  fields: Fields,
  direction: "create" | "update",
  good: Readonly<Record<string, unknown>>,
): BadInput[] {
  const bad: BadInput[] = [{ what: "an unknown field", path: "no_such_field", body: { ...good, no_such_field: 1 } }];
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal || field.live || field.readOnly) continue;
    const key = inputName(name, field);
    const variant = (what: string, value: unknown, path = key): void => {
      bad.push({ what: `${key}: ${what}`, path, body: { ...good, [key]: value } });
    };
    if (direction === "update" && field.immutable) {
      variant("a change of what is fixed", exampleValue(name, field));
      continue;
    }
    if (direction === "create" && field.required) {
      const { [key]: _, ...rest } = good;
      bad.push({ what: `${key}: absence`, path: key, body: rest });
    }
    for (const [what, value, path] of wrongValues(key, field)) variant(what, value, path);
  }
  return bad;
}

function wrongValues(key: string, field: Field): readonly (readonly [what: string, value: unknown, path?: string])[] {
  switch (field.type) {
    case "string":
      return [
        ["a number", 1],
        ["a list", ["x"]],
        ["more bytes than characters allow", "é".repeat(Math.floor(field.maxBytes / 2) + 1)],
      ];
    case "boolean":
      return [
        ["a string", "true"],
        ["a number", 1],
      ];
    case "integer":
    case "number":
      return [
        ["a string", "1"],
        ["too much", field.max + 1],
        ["too little", field.min - 1],
        ...(field.type === "integer" ? ([["a fraction", field.min + 0.5]] as const) : []),
      ];
    case "oneOf":
      return [
        ["an unknown value", "no such value"],
        ["a number", 1],
      ];
    case "timestamp":
      return [["no time", "yesterday"]];
    case "list":
    case "refList":
      return [
        ["an object", { a: 1 }],
        ["a string", "x"],
        ["too many", Array.from({ length: field.maxItems + 1 }, (_, index) => `x${index}`)],
        ["a wrong item", [1], `${key}[0]`],
      ];
    case "map":
      return [
        ["a list", ["x"]],
        ["a wrong value", { a: {} }, `${key}.a`],
        ["too many", Object.fromEntries(Array.from({ length: field.maxItems + 1 }, (_, index) => [`a${index}`, "x"]))],
      ];
    case "object":
      return [
        ["a string", "x"],
        ["a list", []],
        ["an unknown field inside", { no_such_field: 1 }, `${key}.no_such_field`],
      ];
    case "ref":
      return [
        ["a number", 1],
        ["an object", { id: "x" }],
      ];
    case "children":
      return [];
  }
}
