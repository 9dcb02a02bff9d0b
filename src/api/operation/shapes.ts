/** Small schemas of replies that belong to no resource. */
import type { JsonSchema } from "../../schema/json-schema.ts";

export function textSchema(description: string): JsonSchema {
  return { type: "string", description };
}

export function textOrNull(description: string): JsonSchema {
  return { type: ["string", "null"], description };
}

export function flagSchema(description: string): JsonSchema {
  return { type: "boolean", description };
}

/** All properties are required. */
export function object(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", description, properties, required: Object.keys(properties), additionalProperties: false };
}

export function listSchema(description: string, items: JsonSchema): JsonSchema {
  return { type: "array", description, items };
}

export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: "null" }] };
}
