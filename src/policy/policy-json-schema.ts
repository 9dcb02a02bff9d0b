/**
 * The form of traffic policies as a JSON Schema (2020-12), generated from the declarations, for editors and pipelines
 * without Postern. Only the compiler checks the types of expressions, and which phases a protocol has.
 */
import type { Field, Fields } from "../schema/fields.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { actions } from "./actions/index.ts";
import { maxActions } from "./compile-actions.ts";
import { maxExpressions, maxRules } from "./compile-policy.ts";
import { phases } from "./language/phase.ts";
import type { ActionDeclaration } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import { unquotedTypes } from "./language/unquoted.ts";

const phaseDocs: Readonly<Record<Phase, string>> = {
  on_tcp_connect: "Rules for connections to TLS and TCP edges and endpoints.",
  on_http_request: "Rules for requests.",
  on_http_response: "Rules for responses.",
  on_event_stream_message: "Rules for messages of event streams.",
};

export function policyJsonSchema(): JsonSchema {
  const both = "An older name of on_http_request; for TLS and TCP, of on_tcp_connect.";
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Traffic policy",
    description: "Rules with expressions and actions, by phase.",
    type: "object",
    properties: {
      enabled: { type: "boolean", description: "false: disables the whole policy.", default: true },
      ...Object.fromEntries(phases.map((phase) => [phase, rulesSchema([phase], phaseDocs[phase])])),
      inbound: rulesSchema(["on_http_request", "on_tcp_connect"], both),
      outbound: rulesSchema(["on_http_response"], "An older name of on_http_response."),
    },
    additionalProperties: false,
    $defs: Object.fromEntries(actions.map((action) => [action.type, actionSchema(action)])),
  };
}

function rulesSchema(of: readonly Phase[], description: string): JsonSchema {
  const known = actions.filter((action) => action.phases.some((phase) => of.includes(phase)));
  return {
    description,
    type: ["array", "null"],
    maxItems: maxRules,
    items: {
      type: "object",
      properties: {
        name: { description: "Name of the rule in traces.", type: ["string", "number", "null"] },
        expressions: {
          description: "Conditions in CEL; all must be true.",
          type: ["array", "null"],
          maxItems: maxExpressions,
          items: { type: ["string", "boolean"] },
        },
        actions: {
          description: "Actions to run, in order.",
          type: "array",
          minItems: 1,
          maxItems: maxActions,
          items: { oneOf: known.map(({ type }) => ({ $ref: `#/$defs/${type}` })) },
        },
      },
      required: ["actions"],
      additionalProperties: false,
    },
  };
}

function actionSchema({ type, alias, doc, config, raw = [], alsoTakes = {} }: ActionDeclaration): JsonSchema {
  const schema = fieldsSchema(config, raw, alsoTakes);
  const needsConfig = Object.values(config).some(({ required }) => required === true);
  return {
    description: doc,
    type: "object",
    properties: {
      type: alias === undefined ? { const: type } : { enum: [type, alias] },
      config: needsConfig ? schema : orNull(schema),
    },
    required: ["type", ...(needsConfig ? ["config"] : [])],
    additionalProperties: false,
  };
}

/** @param also other accepted forms of fields */
function fieldsSchema(
  fields: Fields,
  raw: readonly string[],
  also: Readonly<Record<string, JsonSchema | undefined>>,
): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const either: JsonSchema[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal) continue;
    const own = raw.includes(name) ? {} : fieldSchema(field);
    const other = also[name];
    const whole = { description: field.doc, ...(other ? { anyOf: [own, other] } : own) };
    for (const one of [name, field.alias]) if (one !== undefined) properties[one] = whole;
    if (field.required !== true) continue;
    if (field.alias === undefined) required.push(name);
    else either.push({ anyOf: [{ required: [name] }, { required: [field.alias] }] });
  }
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    ...(either.length > 0 && { allOf: either }),
    additionalProperties: false,
  };
}

function fieldSchema(field: Field): JsonSchema {
  const schema = valueSchema(field);
  const fallback = field.default === undefined || field.default === null ? {} : { default: field.default };
  return { ...(field.required === true ? schema : orNull(schema)), ...fallback };
}

/**
 * The schema counts characters, the compiler counts bytes. A text too long for the schema is also too long for the
 * compiler.
 */
function valueSchema(field: Field): JsonSchema {
  switch (field.type) {
    case "string":
      return {
        type: unquotedTypes,
        maxLength: field.maxBytes,
        ...(field.minBytes !== undefined && field.minBytes > 0 && { minLength: 1 }),
        ...(field.format && { examples: [field.format.example] }),
      };
    case "boolean":
      return { type: "boolean" };
    case "integer":
    case "number":
      return { type: field.type, minimum: field.min, maximum: field.max };
    case "oneOf":
      return { enum: field.values };
    case "list":
      return { type: "array", items: valueSchema(field.of), maxItems: field.maxItems, minItems: field.minItems ?? 0 };
    case "map":
      return {
        type: "object",
        additionalProperties: valueSchema(field.of),
        maxProperties: field.maxItems,
        minProperties: field.minItems ?? 0,
      };
    case "object":
      return fieldsSchema(field.fields, [], {});
    default:
      return {};
  }
}

function orNull(schema: JsonSchema): JsonSchema {
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
}
