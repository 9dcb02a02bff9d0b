/** Fields → JSON Schema 2020-12, for responses and for input. */
import type { Field, Fields } from "./fields.ts";
import { inputName } from "./doc.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** `response` is sent; `create` and `update` are accepted. */
export type Direction = "response" | "create" | "update";

export function objectSchema(fields: Fields, direction: Direction, doc: string): JsonSchema {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal) continue;
    if (direction === "response") {
      if (field.writeOnly) continue;
      properties[name] = responseSchema(field);
      required.push(name);
      continue;
    }
    if (field.live || field.readOnly || (direction === "update" && field.immutable)) continue;
    const key = inputName(name, field);
    properties[key] = direction === "update" ? changeSchema(field) : inputSchema(field);
    if (field.required && direction === "create") required.push(key);
  }
  return {
    type: "object",
    description: doc,
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function responseSchema(field: Field): JsonSchema {
  const schema = plainSchema(field, "response");
  const nullable = field.nullable || emptyIsNull(field);
  return addDescription(field, nullable ? orNull(schema) : schema);
}

/**
 * The value that a create stores for an omitted field is `x-default`. With `default`, generated clients send it in every
 * request, and change fields that their caller did not set.
 */
function inputSchema(field: Field): JsonSchema {
  const fallback =
    field.required || field.default === undefined || field.default === null ? {} : { "x-default": field.default };
  return { ...changeSchema(field), ...fallback };
}

/** Without default values: a field that PATCH omits keeps its value. */
function changeSchema(field: Field): JsonSchema {
  const schema = plainSchema(field, "create");
  const unsets = field.nullable || !field.required;
  return addDescription(field, unsets ? orNull(schema) : schema);
}

/** Fields without their own value for "unset". */
function emptyIsNull(field: Field): boolean {
  return (field.type === "ref" && !field.required) || field.type === "timestamp";
}

function addDescription(field: Field, schema: JsonSchema): JsonSchema {
  return "$ref" in schema
    ? { description: field.doc, allOf: [schema] }
    : {
        description: field.doc,
        ...schema,
        ...(field.secret && { "x-secret": true }),
        ...(field.sensitive && { "x-sensitive": true }),
      };
}

function orNull(schema: JsonSchema): JsonSchema {
  if (typeof schema["type"] !== "string") return { anyOf: [schema, { type: "null" }] };
  const values = schema["enum"] as readonly unknown[] | undefined;
  return { ...schema, type: [schema["type"], "null"], ...(values && { enum: [...values, null] }) };
}

function plainSchema(field: Field, direction: Direction): JsonSchema {
  const response = direction === "response";
  const inner = response ? responseSchema : inputSchema;
  switch (field.type) {
    case "string":
      return {
        type: "string",
        maxLength: field.maxBytes,
        "x-max-bytes": field.maxBytes,
        ...(field.format && { "x-format": field.format.name, examples: [field.format.example] }),
      };
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return { type: "integer", minimum: !response && field.zeroIsUnset ? 0 : field.min, maximum: field.max };
    case "number":
      return { type: "number", minimum: field.min, maximum: field.max };
    case "oneOf":
      return { type: "string", enum: field.values };
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "list":
      return { type: "array", items: inner({ ...field.of, required: true }), maxItems: field.maxItems };
    case "map":
      return {
        type: "object",
        additionalProperties: inner({ ...field.of, required: true }),
        maxProperties: field.maxItems,
      };
    case "object":
      if (field.schemaName && response) return { $ref: schemaRef(field.schemaName) };
      if (field.schemaName) return { $ref: schemaRef(`${field.schemaName}Replace`) };
      return objectSchema(field.fields, direction, field.doc);
    case "ref":
      return field.bare || !response ? { type: "string", "x-ref": field.to } : { $ref: schemaRef("Ref") };
    case "refList":
      return {
        type: "array",
        items: field.bare || !response ? { type: "string", "x-ref": field.to } : { $ref: schemaRef("Ref") },
      };
    case "children":
      return { type: "array", items: { $ref: schemaRef(typeName(field.kind)) } };
  }
}

export function schemaRef(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Converts a snake_case name to a type name: `https_edge_route` → `HTTPSEdgeRoute`. */
export function typeName(kind: string): string {
  const words = kind.split("_").map((word) => (acronyms.has(word) ? word.toUpperCase() : capitalize(word)));
  return words.join("");
}

const acronyms = new Set(["https", "tls", "tcp", "ip", "api", "saml", "oidc"]);

function capitalize(word: string): string {
  if (word === "oauth") return "OAuth";
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
