/** The OpenAPI 3.1 description of the API, derived from the same table that serves it. */
import type { Fields } from "../../schema/fields.ts";
import { objectSchema, schemaRef } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Operation } from "../operation/call.ts";
import { resources } from "../operation/resource-declarations.ts";
import { headerComponents, isTagged, successHeaders } from "./response-headers.ts";
import { anyFailure, errorResponses, collectSharedFailures } from "./error-responses.ts";
import { exampleReply } from "../objects/example-replies.ts";
import { exampleInput } from "../operation/example-ids.ts";
import { maxReasonBytes } from "../operation/reason.ts";
import { isStored } from "../operation/operation-refusals.ts";
import { defaultGroups, groupings, maxGroups, steps } from "../series/read-query.ts";

export function describeApi(operations: readonly Operation[]): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  const examples: Examples = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describeOperation(operation, examples);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Postern management API",
      version: "2",
      description: "Configures and inspects tunnels, edges and the modules on them.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    paths,
    components: {
      schemas: collectSchemas(operations),
      responses: { Failure: anyFailure(), ...collectSharedFailures(operations) },
      examples,
      parameters,
      headers: headerComponents,
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
    },
  };
}

/** Returns one line per operation, for reviewing changes of the API. */
export function operationLines(operations: readonly Operation[]): string {
  const lines = operations.map(({ id, method, path }) => `${path} ${method} ${id}\n`);
  return lines.sort().join("");
}

/** Examples of replies, by name. */
type Examples = Record<string, { readonly value: unknown }>;

function describeOperation(operation: Operation, shared: Examples): JsonSchema {
  const { resource } = operation;
  const given = [
    ...[...operation.path.matchAll(/\{(\w+)\}/g)].map((found) => ({
      name: found[1],
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...(operation.query ?? []).map((name) => ({
      name,
      in: "query",
      description: queryDocs[name],
      schema: querySchema(name),
    })),
    ...headerNames(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(resource && { tags: [resource.name], description: resource.doc }),
    ...(operation.open && { security: [] }),
    ...(given.length > 0 && { parameters: given }),
    ...(operation.input && { requestBody: requestBody(operation) }),
    ...(operation.takes === "document" && { requestBody: documentBody(operation) }),
    responses: {
      [operation.status]: {
        description: operation.summary,
        headers: successHeaders(operation),
        ...(operation.replySchema && { content: answerContent(operation, shared) }),
        ...((operation.open || operation.produces !== undefined) && { content: openContent(operation) }),
      },
      ...(isConditional(operation) && {
        304: { description: "The object still has the ETag of `If-None-Match`.", headers: successHeaders(operation) },
      }),
      ...plainReplies(operation),
      ...errorResponses(operation),
      default: { $ref: "#/components/responses/Failure" },
    },
  };
}

function answerContent(operation: Operation, shared: Examples): JsonSchema {
  const { name, value } = exampleReply(operation);
  shared[name] ??= { value };
  const examples = { [name]: { $ref: `#/components/examples/${name}` } };
  const content = { schema: { $ref: schemaRef(operation.replySchema as string) }, examples };
  const { alsoProduces } = operation;
  return { "application/json": content, ...(alsoProduces !== undefined && { [alsoProduces]: content }) };
}

function openContent({ produces = "text/plain", exampleReply: example }: Operation): JsonSchema {
  return { [produces]: { schema: { type: produces === "application/json" ? "object" : "string" }, example } };
}

function plainReplies({ plainReplies = {} }: Operation): JsonSchema {
  const headers = { "Postern-Operation-Id": { $ref: "#/components/headers/Postern-Operation-Id" } };
  return Object.fromEntries(
    Object.entries(plainReplies).map(([status, { description, example }]) => [
      status,
      { description, headers, content: { "text/plain": { schema: { type: "string" }, example } } },
    ]),
  );
}

function isConditional(operation: Operation): boolean {
  return operation.method === "GET" && isTagged(operation);
}

/** Returns the header fields that the operation uses, as `parameters` names them. */
function headerNames(operation: Operation): (keyof typeof parameters)[] {
  if (operation.open) return isConditional(operation) ? ["IfNoneMatch"] : [];
  if (isConditional(operation)) return ["Version", "IfNoneMatch"];
  if (!isStored(operation)) return operation.once ? ["Version", "IdempotencyKey"] : ["Version"];
  const shared = ["Version", "Reason", "Prefer"] as const;
  if (operation.verb === "create" || operation.stores) return [...shared, "IdempotencyKey"];
  return operation.method === "POST" ? [...shared] : [...shared, "IfMatch"];
}

function requestBody(operation: Operation): JsonSchema {
  const name = inputSchemaName(operation);
  const fields = withoutPath(operation.path, operation.input as Fields);
  const schema = name ? { $ref: schemaRef(name) } : objectSchema(fields, "create", operation.summary);
  const example = operation.exampleBody ?? exampleInput(fields, operation.verb === "update" ? "update" : "create");
  return { required: operation.verb === "create", content: { "application/json": { schema, example } } };
}

function documentBody({ bodySchema = "Document", exampleBody: example }: Operation): JsonSchema {
  const content = { schema: { $ref: schemaRef(bodySchema) }, example };
  return { required: true, content: { "application/yaml": content, "application/json": content } };
}

function inputSchemaName(operation: Operation): string | undefined {
  if (operation.verb === "replace") return `${operation.replySchema}Replace`;
  if (operation.verb === "create") return `${operation.resource?.schemaName}Create`;
  if (operation.verb === "update") return `${operation.resource?.schemaName}Update`;
  return undefined;
}

function collectSchemas(operations: readonly Operation[]): Record<string, JsonSchema> {
  const all: Record<string, JsonSchema> = { Ref: refSchema, Error: errorSchema };
  for (const resource of resources) {
    if (resource.internal) continue;
    const response = objectSchema(resource.fields, "response", resource.doc);
    all[resource.schemaName] = withIdentity(resource, response);
    const verbs = resource.operations ?? ["create", "update"];
    if (verbs.includes("create")) {
      all[`${resource.schemaName}Create`] = objectSchema(
        withoutPath(resource.path, resource.fields),
        "create",
        resource.doc,
      );
    }
    if (verbs.includes("update")) {
      all[`${resource.schemaName}Update`] = objectSchema(resource.fields, "update", resource.doc);
    }
    addNamed(resource.fields, all);
  }
  for (const operation of operations) {
    Object.assign(all, operation.schemas);
    if (operation.verb !== "list" || !operation.replySchema || !operation.listKey) continue;
    all[operation.replySchema] = listSchema(operation.listKey, operation.resource as ResourceDeclaration);
  }
  return all;
}

/** Adds schemas of nested objects with names, such as modules. */
function addNamed(fields: Fields, all: Record<string, JsonSchema>): void {
  for (const field of Object.values(fields)) {
    const inner = field.type === "list" || field.type === "map" ? field.of : field;
    if (inner.type !== "object") continue;
    if (inner.schemaName !== undefined) {
      all[inner.schemaName] ??= objectSchema(inner.fields, "response", inner.doc);
      all[`${inner.schemaName}Replace`] ??= objectSchema(inner.fields, "create", inner.doc);
    }
    addNamed(inner.fields, all);
  }
}

/** Parameters of the path are optional in the body. */
function withoutPath(path: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !path.includes(`{${name}}`)));
}

function withIdentity(resource: ResourceDeclaration, schema: JsonSchema): JsonSchema {
  const identity = {
    id: { type: "string", description: "Identifier.", pattern: `^${resource.idPrefix}_[0-9a-z]{27}$` },
    uri: { type: "string", description: "URI of the object." },
    ...(!resource.live && { created_at: { type: "string", format: "date-time", description: "Creation time." } }),
  };
  return {
    ...schema,
    properties: { ...identity, ...(schema["properties"] as object) },
    required: [...Object.keys(identity), ...((schema["required"] as readonly string[] | undefined) ?? [])],
  };
}

function listSchema(listKey: string, resource: ResourceDeclaration): JsonSchema {
  return {
    type: "object",
    description: `A page: ${resource.doc}`,
    properties: {
      [listKey]: { type: "array", items: { $ref: schemaRef(resource.schemaName) }, maxItems: 100 },
      uri: { type: "string", description: "URI of the list." },
      next_page_uri: { type: ["string", "null"], description: "URI of the next page; null on the last page." },
    },
    required: [listKey, "uri", "next_page_uri"],
    additionalProperties: false,
  };
}

const refSchema: JsonSchema = {
  type: "object",
  description: "A reference to another object.",
  properties: { id: { type: "string" }, uri: { type: "string" } },
  required: ["id", "uri"],
  additionalProperties: false,
};

const errorSchema: JsonSchema = {
  type: "object",
  description: "Every failure.",
  properties: {
    error_code: { type: "string", pattern: "^ERR_POSTERN_[0-9]+$" },
    status_code: { type: "integer" },
    msg: { type: "string", description: "The attempted operation and the error." },
    details: {
      type: "object",
      description: "One entry for each invalid field, and always `operation_id`.",
      properties: { operation_id: { type: "string", pattern: "^op_[0-9a-z]{27}$" } },
      required: ["operation_id"],
      additionalProperties: { type: "string" },
    },
  },
  required: ["error_code", "status_code", "msg", "details"],
  additionalProperties: false,
};

const parameters = {
  Version: {
    name: "Service-Version",
    in: "header",
    required: false,
    description: "Version of the API. `Ngrok-Version` is accepted instead; one of the two is required.",
    schema: { type: "string", enum: ["2"] },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "ETag that the object must still have.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "ETags that the client has. If the object still has one of them, the answer is 304 without a body.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Key that makes the operation run once: a repetition with the same body within 24 h returns the first answer.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
  Reason: {
    name: "Postern-Reason",
    in: "header",
    description: `Reason for the change, stored in the history: at most ${maxReasonBytes} bytes of UTF-8. Percent-encode \`%\` and everything except visible ASCII (RFC 3986): \`caf%C3%A9\`.`,
    schema: { type: "string", maxLength: 3 * maxReasonBytes },
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    description:
      "`wait=SECONDS`, at most 30: answer when every connected edge serves the change, or after that time. `Postern-Applied` reports which.",
    schema: { type: "string" },
  },
};

const queryDocs: Readonly<Record<string, string>> = {
  limit: "Maximum objects on the page.",
  before_id: "Id of the last object on the previous page.",
  beforeId: "The same as `before_id`.",
  filter: "A condition on the objects, such as `obj.metadata.contains('team-a')`.",
  at_revision: "Number of the revision to read.",
  principal: "Id of the API key that made the change.",
  operation: "Id of the operation, such as `createIPPolicy`.",
  kind: "Kind of the object that was changed, such as `ip_policy`.",
  object_id: "Id of the object that was changed.",
  document: "Name of the document.",
  plan: "Hash of a plan: makes the changes only if they are exactly those of the plan.",
  id: "Only objects with this id; can be given several times.",
  url: "Only objects with this URL; can be given several times.",
  outcome: "Only entries with this outcome.",
  metric: "Metrics, separated by commas, at most 10. Default: `requests,errors`, or `refused` with `group_by=reason`.",
  step: "Length of each step. Default: the shortest that leads to at most 170 steps.",
  group_by: "Groups the traffic. `reason` counts what was denied or failed by its reason.",
  service_id: "Id of an edge or endpoint: only its traffic.",
  groups: "Maximum number of groups, besides the sum of the others.",
  text: "Only entries with this text in their id, method, host and path, address, event type or status. Case does not matter.",
  route_id: "Only messages of this route.",
  state: "Only messages in this state.",
  provider: "Only messages of this webhook provider.",
  event_type: "Only messages with this event type.",
  since:
    "Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins with the step that contains it, by default an hour before its end.",
  until: "Only entries that began before this time, in the same form. A series ends with the step that contains it.",
  status: "Only entries with this status; 0 for those without a response.",
  module: "Only entries on which this module acted, such as `ip_restriction`.",
  rule: "Only entries in which the object with this id decided, such as a rule of an IP policy.",
  source_ip: "Only entries from this address.",
  path: "Only entries with this canonical path. `*` at its end stands for any rest.",
  user: "Only entries of the visitor with this e-mail address or id.",
  format: "`jsonl` (default) for JSON Lines, or `har` for an HTTP archive.",
  exchange_id: "`exchange_id` of a replay, instead of the request itself.",
  secrets: "`true` includes the secrets that the key may read.",
  issuer: "Issuer of an OpenID provider.",
  dry_run: "`true` returns the planned changes without making them.",
};

function querySchema(name: string): JsonSchema {
  return querySchemas[name] ?? { type: "string" };
}

/** Query parameters that are not plain strings. */
const querySchemas: Readonly<Record<string, JsonSchema>> = {
  limit: { type: "integer", minimum: 1, maximum: 100, default: 100 },
  at_revision: { type: "integer", minimum: 0 },
  dry_run: { type: "boolean", default: false },
  since: { type: "string", format: "date-time" },
  until: { type: "string", format: "date-time" },
  step: { type: "string", enum: Object.keys(steps) },
  group_by: { type: "string", enum: [...groupings], default: "none" },
  groups: { type: "integer", minimum: 1, maximum: maxGroups, default: defaultGroups },
  secrets: { type: "boolean", default: false },
};
