/** Random inputs from the declarations. Most are accepted; rules across fields reject the others. */
import { exampleValue } from "../../src/api/operation/example-ids.ts";
import type { Field, Fields } from "../../src/schema/fields.ts";
import { inputName } from "../../src/schema/doc.ts";
import type { Random } from "./random.ts";

/** Returns an ID of one of the kinds, if any exists. */
export type SomeId = (kinds: readonly string[]) => string | undefined;

/** Texts that a naive reader or writer of YAML or JSON confuses with other values. */
const oddTexts = [
  "",
  "yes",
  "null",
  "~",
  "0x1f",
  "1e3",
  "2020-01-01",
  "- dash",
  "# no comment",
  "a: b",
  "'quoted\"",
  " spaces ",
  "two\nlines",
  "trailing\n\n",
  "tab\there",
  "\u0085\u2028\ufeff",
  "{ braces",
  "*alias &anchor !tag",
  "naïve 🦀",
  "%directive",
  "\ud800 alone",
];

export function randomInput(fields: Fields, random: Random, someId: SomeId): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal || field.live || field.readOnly) continue;
    if (!field.required && random() < (field.type === "object" && field.nullable ? 0.8 : 0.5)) continue;
    out[inputName(name, field)] = randomValue(name, field, random, someId);
  }
  return out;
}

function randomValue(name: string, field: Field, random: Random, someId: SomeId): unknown {
  if (field.nullable && random() < 0.1) return null;
  const several = <T>(make: () => T, most: number): T[] => Array.from({ length: 1 + random.below(most) }, make);
  switch (field.type) {
    case "string":
      if (field.example !== undefined) return field.example;
      if (field.format) return distinct(field.format.example, random);
      return random() < 0.5 ? `${name} ${random.below(1e9)}` : random.pick(oddTexts).slice(0, field.maxBytes);
    case "boolean":
      return random() < 0.5;
    case "integer":
      return field.min + random.below(Math.min(field.max - field.min, 1000) + 1);
    case "number":
      return field.min + random() * (field.max - field.min);
    case "oneOf":
      return random.pick(field.values);
    case "list":
      if (field.of.type === "oneOf" || field.example !== undefined) return exampleValue(name, field);
      return several(() => randomValue(name, field.of, random, someId), Math.min(field.maxItems, 3));
    case "map":
      return Object.fromEntries(
        several(() => {
          const key = field.keysTo ? someId(field.keysTo) : `key-${random.below(1e6)}`;
          return [key ?? "", randomValue("value", field.of, random, someId)];
        }, 3),
      );
    case "object":
      return randomInput(field.fields, random, someId);
    case "ref":
      return someId(field.to) ?? null;
    case "refList":
      return [...new Set(several(() => someId(field.to) ?? "", 3))];
    default:
      return exampleValue(name, field);
  }
}

/** Returns a variant of the format's example, if that is easy to make. */
function distinct(example: string, random: Random): string {
  if (/^[a-z*.-]+\.example\.com(:\d+)?$/.test(example)) return `r${random.below(1e9)}.${example.replace(/^\*\./, "")}`;
  if (/^\d+\.\d+\.\d+\.\d+\/\d+$/.test(example)) return `10.${random.below(256)}.${random.below(256)}.0/24`;
  if (example.startsWith("/")) return `/${random.below(1e6)}`;
  return example;
}
