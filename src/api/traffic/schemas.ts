/** Schemas of what the edge tells of its traffic. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { list, object, orNull, text, textOrNull } from "../operation/shapes.ts";

const decider = object("An object of the configuration, at the revision that decided.", {
  kind: text("Its kind, e.g. `ip_policy_rule`."),
  id: text("Its id."),
  revision: { type: "integer", description: "Its revision." },
});

const policyRule = object("A rule of a traffic policy in a dry run.", {
  phase: text("Its phase."),
  index: { type: "integer", description: "Its place in the phase, from 0." },
  matched: {
    type: "integer",
    description:
      "How often its conditions have held on real traffic, since the edge has started and they are what they are.",
  },
  failed: {
    type: "integer",
    description: "How often one of them could not be decided, or an action could not do what it is for.",
  },
  values: list(
    "Its expressions as far as they were looked at: the first that is not true ends it.",
    object("An expression.", {
      expression: text("As it is written."),
      outcome: { type: "string", enum: ["true", "false", "error"], description: "What it was." },
      parts: list(
        "Values of its parts, in the order in which they became known.",
        object("A part.", { text: text("As it is written."), value: text("Its value.") }),
      ),
    }),
  ),
  actions: list(
    "What its actions did or would do.",
    object("An action.", { type: text("Its type."), outcome: text("How it went."), reason: text("What it did.") }),
  ),
});

export const stepSchema = object("What the router, a module or a backend decided, and why.", {
  by: text("Name of the module, `router` or `backend`."),
  outcome: { type: "string", enum: ["passed", "changed", "denied", "answered", "skipped"], description: "What." },
  reason: text("Why."),
  decided_by: orNull(decider),
  rule: orNull(policyRule),
});

const outcome: JsonSchema = {
  type: "string",
  enum: ["forwarded", "answered", "denied", "failed"],
  description: "How it ended: sent to an upstream, answered or denied at the edge, or failed.",
};
const steps = list("What decided, in order.", { $ref: schemaRef("Step") });
const number = (description: string): JsonSchema => ({ type: "number", description });

const tunnel = (description: string): JsonSchema =>
  object(description, {
    id: text("Its id."),
    tunnel_session_id: text("Id of the session that holds it."),
    forwards_to: text("Where its agent forwards."),
  });

export const requestSchema = object("A request that has ended at the edge.", {
  id: text("Its id, as its client was told."),
  uri: text("URI of the request."),
  ended_at: { type: "string", format: "date-time", description: "When it ended." },
  method: text("Method."),
  host: text("Host, lower case, without port."),
  path: text("Path in canonical form, without query."),
  source_ip: text("Address of the client."),
  site_id: text("Id of the edge or endpoint."),
  route_id: textOrNull("Id of the route that matched."),
  tunnel: orNull(tunnel("The tunnel that it was sent through; null where it was sent through none.")),
  outcome,
  status_code: { type: "integer", description: "Status of the response; 0 when there was none." },
  error_code: textOrNull("Code that the client was told."),
  duration_ms: number("From its head to its end, milliseconds."),
  upstream_ms: {
    type: ["number", "null"],
    description:
      "From its being sent on until its upstream's answer began, through the tunnel, milliseconds; null when none did.",
  },
  bytes_in: { type: "integer", description: "Body bytes from the client." },
  bytes_out: { type: "integer", description: "Body bytes to the client." },
  cut_short: { type: "boolean", description: "Whether the response was cut short." },
  steps,
});

export const connectionSchema = object("A connection to a TLS or TCP edge or endpoint that is over.", {
  id: text("Its id, as the log and its event have it."),
  uri: text("URI of the connection."),
  ended_at: { type: "string", format: "date-time", description: "When it ended." },
  protocol: { type: "string", enum: ["tls", "tcp"], description: "What its edge or endpoint is of." },
  server_name: textOrNull("Host that a TLS client asked for."),
  port: { type: ["integer", "null"], description: "Port that it came to; null when it was not let in." },
  source_ip: text("Address of the client."),
  site_id: text("Id of the edge or endpoint that it came to."),
  outcome: {
    type: "string",
    enum: ["served", "denied", "broken", "account_limit", "no_upstream", "abandoned"],
    description:
      "How it was taken: passed on to an upstream, denied, closed as its edge has a fault or its account too many, without an upstream, or left by its client before it had one.",
  },
  error_code: textOrNull("Code of what ended it; clients of connections are told none."),
  duration_ms: number("How long it was open, milliseconds."),
  bytes_in: { type: "integer", description: "Bytes from the client." },
  bytes_out: { type: "integer", description: "Bytes to the client." },
  steps,
});

export const connectionListSchema = object("A page of connections.", {
  connections: { ...list("The connections.", { $ref: schemaRef("Connection") }), maxItems: 100 },
  uri: text("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last one."),
});

export const requestListSchema = object("A page of requests.", {
  requests: { ...list("The requests.", { $ref: schemaRef("Request") }), maxItems: 100 },
  uri: text("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last one."),
});

const fieldList = (description: string): JsonSchema =>
  list(description, object("A header field.", { name: text("Name, lower case."), value: text("Value.") }));

export const explanationSchema = object("What would be done with a request or connection.", {
  revision: { type: "integer", description: "Revision of the configuration that was asked." },
  edge: orNull(decider),
  route: orNull(
    object("The route that matches.", { id: text("Its id."), revision: { type: "integer", description: "Revision." } }),
  ),
  near_routes: list(
    "Routes that nearly match.",
    object("A route, and why it was not the one.", {
      id: text("Its id."),
      match_type: text("How it matches."),
      match: text("What it matches."),
      reason: text("Why it does not."),
    }),
  ),
  outcome,
  status_code: {
    type: ["integer", "null"],
    description: "What the edge answers; null when the request goes upstream.",
  },
  error_code: textOrNull("Code that the client is told."),
  steps,
  backend: orNull(decider),
  tunnel: orNull(tunnel("The tunnel that would be chosen.")),
  address: textOrNull("Address of a static backend."),
  request_headers: fieldList("Header fields as they would reach the upstream."),
  response: orNull(
    object("The described response as the client would get it.", {
      status_code: { type: "integer", description: "Status." },
      headers: fieldList("Header fields."),
    }),
  ),
});
