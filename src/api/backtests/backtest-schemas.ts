/** Schemas and examples of backtests, for the description of the API. */
import type { DifferenceKind } from "../../routing/planes/backtests.ts";
import { objectSchema, schemaRef } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Fields } from "../../schema/fields.ts";
import { exampleDocument } from "../documents/document-examples.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleTime } from "../operation/example-ids.ts";
import { listSchema, object, orNull, textSchema, textOrNull } from "../operation/shapes.ts";
import { draftField } from "../traffic/explain-operations.ts";

const differences: Readonly<Record<DifferenceKind, string>> = {
  allowed_to_denied: "Requests that the candidate no longer allows: denied, or sent to a login.",
  denied_to_allowed: "Requests that the candidate newly allows.",
  other_route: "Allowed requests that match another route.",
  other_backend: "Allowed requests that go to another backend.",
  other_status: "Requests with another status or error code.",
  other_headers: "Allowed requests with another URL, header field or response.",
};

const countSchema = (description: string): JsonSchema => ({ type: "integer", description });
const kind: JsonSchema = { type: "string", enum: Object.keys(differences), description: "The difference." };
const distinctSchema = (what: string): JsonSchema =>
  object(`Number of different ${what}.`, {
    count: countSchema("The number, up to 10,000."),
    more: { type: "boolean", description: "Whether there are more." },
  });

const decision = object("What one of the two configurations decides.", {
  outcome: { type: "string", enum: ["forwarded", "answered", "denied", "failed"], description: "Outcome." },
  status_code: {
    type: ["integer", "null"],
    description: "Status for the client; null if only the upstream could tell.",
  },
  error_code: textOrNull("Error code."),
  route_id: textOrNull("The route."),
  backend_id: textOrNull("The backend."),
  steps: listSchema("The decisions, in order.", { $ref: schemaRef("Step") }),
});

const cause = object("A reason for differences, with its number of requests.", {
  difference: kind,
  module: textSchema("Module with the first step that differs; `router` for another route."),
  rule: textOrNull("The policy rule."),
  object: orNull(
    object("The changed object.", {
      kind: textSchema("Its kind."),
      id: textSchema(
        "Its id. An object that the document would create has its name instead, here and everywhere else.",
      ),
      name: textOrNull("Its name in its document."),
    }),
  ),
  requests: countSchema("Number of requests."),
  sources: distinctSchema("client addresses"),
  users: distinctSchema("logged-in users"),
  paths: distinctSchema("paths"),
});

const example = object("A request with a difference.", {
  request_id: textSchema("Its request id."),
  received_at: textSchema("When it was received."),
  method: textSchema("Method."),
  host: textSchema("Host."),
  path: textSchema("Path."),
  source_ip: textSchema("Address of the client."),
  user: textOrNull("E-mail address of the logged-in user."),
  difference: kind,
  before: decision,
  after: decision,
});

export const backtestSchema: JsonSchema = object("A backtest of a candidate configuration, with its results so far.", {
  id: textSchema("Its id."),
  uri: textSchema("Its URI."),
  status: { type: "string", enum: ["running", "completed", "failed", "cancelled"], description: "State." },
  error: textOrNull("Why it failed."),
  created_at: textSchema("When it was started."),
  revision: countSchema("Revision of the configuration that the candidate changes."),
  changed_objects: countSchema("Number of objects that the candidate changes."),
  since: textSchema("Requests that arrived at this time or later are tried."),
  until: textSchema("Requests that arrived before this time are tried."),
  first_request_at: textOrNull("When the earliest tried request arrived."),
  last_request_at: textOrNull("When the latest tried request arrived."),
  tried: countSchema("Number of requests that were tried: the sum of `same`, `different` and `unknown`."),
  same: countSchema("Requests for which nothing changes."),
  different: countSchema("Requests for which something changes."),
  unknown: countSchema("Requests whose result depends on something that was not captured."),
  skipped: countSchema("Requests to hosts that the configuration does not serve."),
  decided_otherwise_before: countSchema(
    "Requests that the present configuration decides in another way than when they arrived, because it has changed since.",
  ),
  gaps: countSchema("Places in the captured data whose requests are missing."),
  lost_nodes: listSchema(
    "Nodes that stopped answering. Their remaining captured requests were not tried.",
    object("A node that stopped answering.", {
      node_id: textSchema("Id of the node."),
      requests: countSchema("Captured requests that are missing, as far as the node has listed them."),
    }),
  ),
  differences: object("Number of requests by difference.", countSchemas(differences)),
  unknown_reasons: listSchema(
    "Why results are unknown.",
    object("A reason.", { reason: textSchema("The reason."), requests: countSchema("Number of requests.") }),
  ),
  causes: listSchema("Causes of the differences, the most frequent first.", cause),
  examples: listSchema("The first and the last request with a difference, and up to twenty between them.", example),
});

function countSchemas(docs: Readonly<Record<string, string>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(docs).map(([name, doc]) => [name, countSchema(doc)]));
}

/** @param fields the fields besides the candidate */
export function backtestRequestSchema(fields: Fields): JsonSchema {
  return {
    type: "object",
    description: "A backtest to start, with exactly one of `document` and `draft`.",
    properties: {
      document: { anyOf: [{ $ref: schemaRef("Document") }, { type: "null" }] },
      ...(objectSchema({ draft: draftField, ...fields }, "create", "")["properties"] as object),
    },
    additionalProperties: false,
  };
}

export const exampleBacktestRequest = { document: exampleDocument, since: "2026-01-01T00:00:00Z" };

const id = "bkt_0f6yvqk3c5a9m2x7p4r8t1w6z0b";
const rule = { kind: "ip_policy_rule", id: exampleId("ip_policy_rule"), name: "network" };
const passed = { by: "router", outcome: "passed", reason: 'matched path_prefix "/"', decided_by: null, rule: null };
const denied = {
  by: "ip_restriction",
  outcome: "denied",
  reason: "no rule allows 198.51.100.7",
  decided_by: null,
  rule: null,
};
const shared = { route_id: exampleId("https_edge_route") };

export const exampleBacktest = {
  id,
  uri: `${exampleBaseUrl}/backtests/${id}`,
  status: "completed",
  error: null,
  created_at: exampleTime,
  revision: 42,
  changed_objects: 2,
  since: exampleTime,
  until: exampleTime,
  first_request_at: exampleTime,
  last_request_at: exampleTime,
  tried: 1200,
  same: 1188,
  different: 12,
  unknown: 0,
  skipped: 3,
  decided_otherwise_before: 0,
  gaps: 0,
  lost_nodes: [],
  differences: {
    allowed_to_denied: 12,
    denied_to_allowed: 0,
    other_route: 0,
    other_backend: 0,
    other_status: 0,
    other_headers: 0,
  },
  unknown_reasons: [],
  causes: [
    {
      difference: "allowed_to_denied",
      module: "ip_restriction",
      rule: null,
      object: rule,
      requests: 12,
      sources: { count: 1, more: false },
      users: { count: 0, more: false },
      paths: { count: 4, more: false },
    },
  ],
  examples: [
    {
      request_id: "req_0f6yvqk3c5a9m2x7p4r8t1w6z0b",
      received_at: exampleTime,
      method: "GET",
      host: "app.example.com",
      path: "/orders",
      source_ip: "198.51.100.7",
      user: null,
      difference: "allowed_to_denied",
      before: {
        ...shared,
        outcome: "forwarded",
        status_code: 200,
        error_code: null,
        backend_id: exampleId("tunnel_group_backend"),
        steps: [passed],
      },
      after: {
        ...shared,
        outcome: "denied",
        status_code: 403,
        error_code: "ERR_POSTERN_3205",
        backend_id: null,
        steps: [passed, denied],
      },
    },
  ],
};
