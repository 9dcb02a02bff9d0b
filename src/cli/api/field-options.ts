/** Converts the fields of a body to options, and options to a body. */
import type { Schema } from "../../api/description/description.ts";
import { Failure } from "../process/exit.ts";
import type { Setting } from "../../settings/setting.ts";
import { plainSchema } from "./packed-description.ts";
import type { DescribedOperation } from "./packed-description.ts";

/** A field, by its path in the body. */
export interface FieldOption {
  readonly path: readonly string[];
  readonly setting: Setting<unknown>;
}

/** Maximum depth of objects whose fields have options. Deeper objects are given as JSON. */
const maxDepth = 2;

/** @param taken flags with another meaning; such fields can be set only in the document */
export function fieldOptions(operation: DescribedOperation, taken: ReadonlySet<string>): FieldOption[] {
  const found: FieldOption[] = [];
  const add = (
    fields: Readonly<Record<string, Schema>>,
    required: readonly string[],
    path: readonly string[],
  ): void => {
    for (const [name, given] of Object.entries(fields)) {
      const schema = plainSchema(given);
      const place = [...path, name];
      const flag = place.join(".").replaceAll("_", "-");
      if (taken.has(flag)) continue;
      const doc =
        `${schema.description ?? ""}${required.includes(name) && path.length === 0 ? " Required." : ""}`.trim();
      found.push({ path: place, setting: fieldSetting(schema, flag, doc) });
      if (schema.properties && place.length < maxDepth) add(schema.properties, [], place);
    }
  };
  add(operation.fields, operation.required, []);
  return found;
}

function fieldSetting(schema: Schema, flag: string, doc: string): Setting<unknown> {
  const common = { doc, flag, flagOnly: true } as const;
  const one = (placeholder: string, parse: (text: string) => unknown, more: object = {}): Setting<unknown> => ({
    ...common,
    ...more,
    placeholder,
    read: (texts) => (texts === undefined ? undefined : parse(onlyText(texts))),
  });
  if (schema.enum) {
    return one(schema.enum.filter((value) => value !== null && value !== "").join("|"), (text) => text);
  }
  switch (schema.type) {
    case "string": {
      // Keys and certificates come from files, because other users can see secrets on the command line.
      const fromFile = schema["x-secret"] === true || (schema["x-max-bytes"] ?? 0) > 4096;
      return one("TEXT", (text) => text, fromFile ? { secret: true } : {});
    }
    case "boolean":
      return {
        ...common,
        doc: `${doc} Or \`--${flag}=false\`.`,
        read: (texts) => (texts === undefined ? undefined : readBoolean(onlyText(texts))),
      };
    case "integer":
    case "number":
      return one("NUMBER", orNull(readNumber));
    case "array":
      return declareTexts(common, schema.items?.type === "object" ? "JSON" : "VALUE", (texts) =>
        readList(texts, schema),
      );
    case "object":
      if (schema.properties) return one("JSON", orNull(readJson));
      return declareTexts(common, "NAME=VALUE", (texts) => readMap(texts, schema));
    default:
      return one("JSON", readJson);
  }
}

function declareTexts(
  common: Pick<Setting<unknown>, "doc" | "flag" | "flagOnly">,
  placeholder: string,
  parse: (texts: readonly string[]) => unknown,
): Setting<unknown> {
  const doc = `${common.doc} Repeatable, or all values as JSON.`;
  return { ...common, doc, placeholder, many: true, read: (texts) => (texts === undefined ? undefined : parse(texts)) };
}

function onlyText(texts: readonly string[]): string {
  if (texts.length !== 1) throw new Error("may be given only once");
  return texts[0] as string;
}

function orNull(parse: (text: string) => unknown): (text: string) => unknown {
  return (text) => (text === "null" ? null : parse(text));
}

function readBoolean(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new Error("must be true or false");
}

function readNumber(text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new Error("must be a number");
  return Number(text);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error("must be JSON");
  }
}

function readList(texts: readonly string[], schema: Schema): unknown {
  const [first = ""] = texts;
  if (texts.length === 1 && (first === "null" || first.startsWith("["))) return readJson(first);
  const items = plainSchema(schema.items ?? {});
  return texts.map((text) => readValue(text, items));
}

function readMap(texts: readonly string[], schema: Schema): unknown {
  const [first = ""] = texts;
  if (texts.length === 1 && (first === "null" || first.startsWith("{"))) return readJson(first);
  const values = typeof schema.additionalProperties === "object" ? plainSchema(schema.additionalProperties) : {};
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new Error("must be NAME=VALUE");
      return [text.slice(0, at), readValue(text.slice(at + 1), values)];
    }),
  );
}

/** Reads one element of a list or map. */
function readValue(text: string, schema: Schema): unknown {
  if (schema.type === "string") return text;
  return schema.type === "integer" || schema.type === "number" ? readNumber(text) : readJson(text);
}

/** Returns `document` with the options merged into it. Throws `Failure` (usage) if they conflict. */
export function bodyOf(
  document: Readonly<Record<string, unknown>>,
  assignments: readonly (readonly [path: readonly string[], value: unknown])[],
): Record<string, unknown> {
  const body: Record<string, unknown> = structuredClone(document);
  for (const [path, value] of assignments) {
    let at = body;
    for (const name of path.slice(0, -1)) {
      const inner = (at[name] ??= {});
      if (typeof inner !== "object" || Array.isArray(inner)) {
        throw new Failure(
          "usage",
          `--${path.join(".").replaceAll("_", "-")}: "${name}" has no fields in the value of --data`,
        );
      }
      at = inner as Record<string, unknown>;
    }
    at[path.at(-1) as string] = value;
  }
  return body;
}
