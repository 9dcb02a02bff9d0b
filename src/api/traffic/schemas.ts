/** Schemas of the edge's traffic data. */
import { missingSchema } from "./missing.ts";
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
  index: { type: "integer", description: "Position in the phase, from 0." },
  matched: {
    type: "integer",
    description:
      "How often its conditions were true for real traffic, since the edge started and the conditions last changed.",
  },
  failed: {
    type: "integer",
    description: "How often a condition or an action failed.",
  },
  values: list(
    "Its evaluated expressions, up to the first one that is not true.",
    object("An expression.", {
      expression: text("Source text."),
      outcome: { type: "string", enum: ["true", "false", "error"], description: "Its value." },
      parts: list(
        "Values of its parts, in order of evaluation.",
        object("A part.", { text: text("Source text."), value: text("Its value.") }),
      ),
    }),
  ),
  actions: list(
    "Effects of its actions.",
    object("An action.", {
      type: text("Its type."),
      outcome: text("Outcome of the step."),
      reason: text("Effect of the step."),
    }),
  ),
});

export const stepSchema = object("A decision of the router, a module or a backend, with its reason.", {
  by: text("Name of the module, `router` or `backend`."),
  outcome: { type: "string", enum: ["passed", "changed", "denied", "answered", "skipped"], description: "What." },
  reason: text("Why."),
  decided_by: orNull(decider),
  rule: orNull(policyRule),
});

const outcome: JsonSchema = {
  type: "string",
  enum: ["forwarded", "answered", "denied", "failed"],
  description: "Outcome: sent to an upstream, answered or denied at the edge, or failed.",
};
const steps = list("The decisions, in order.", { $ref: schemaRef("Step") });
const number = (description: string): JsonSchema => ({ type: "number", description });

const sourceCountry = textOrNull(
  "Present country of this address (ISO 3166-1 alpha-2); null if it is unknown, or if no rule and no setting of the server uses locations.",
);

const tunnel = (description: string): JsonSchema =>
  object(description, {
    id: text("Its id."),
    tunnel_session_id: text("Id of the session."),
    forwards_to: text("Address to which the agent forwards."),
  });

export const requestSchema = object("A request that has ended at the edge.", {
  id: text("Id of the request, as in its response."),
  uri: text("URI of the request."),
  ended_at: { type: "string", format: "date-time", description: "End time." },
  method: text("Method."),
  host: text("Host, lower case, without port."),
  path: text("Path in canonical form, without query."),
  source_ip: text("Address of the client."),
  source_country: sourceCountry,
  site_id: text("Id of the edge or endpoint."),
  route_id: textOrNull("Id of the route that matched."),
  tunnel: orNull(tunnel("The tunnel of the request; null if it used none.")),
  outcome,
  status_code: { type: "integer", description: "Status of the response; 0 if there was none." },
  error_code: textOrNull("Error code in the response."),
  duration_ms: number("Milliseconds from the header to the end."),
  upstream_ms: {
    type: ["number", "null"],
    description:
      "Milliseconds from forwarding to the start of the upstream's response, through the tunnel; null without a response.",
  },
  bytes_in: { type: "integer", description: "Body bytes from the client." },
  bytes_out: { type: "integer", description: "Body bytes to the client." },
  cut_short: { type: "boolean", description: "Whether the response was cut short." },
  captured: { type: "boolean", description: "Whether the server captured it with its header fields." },
  trace_id: textOrNull("Id of its trace at the OpenTelemetry collector; null if the server sends no traces."),
  steps,
});

export const connectionSchema = object("A connection to a TLS or TCP edge or endpoint that has ended.", {
  id: text("Id of the connection, as in the log and its event."),
  uri: text("URI of the connection."),
  ended_at: { type: "string", format: "date-time", description: "End time." },
  protocol: { type: "string", enum: ["tls", "tcp"], description: "Protocol of the edge or endpoint." },
  server_name: textOrNull("Host in the TLS client's request."),
  port: { type: ["integer", "null"], description: "Port of the connection; null if it was not accepted." },
  source_ip: text("Address of the client."),
  source_country: sourceCountry,
  site_id: text("Id of the edge or endpoint."),
  outcome: {
    type: "string",
    enum: ["served", "denied", "broken", "account_limit", "no_upstream", "abandoned"],
    description:
      "Outcome: forwarded, denied, closed because of an edge error or an account limit, without an upstream, or closed by the client first.",
  },
  error_code: textOrNull("Code of the error that ended it. Clients of connections do not see it."),
  duration_ms: number("Duration, milliseconds."),
  bytes_in: { type: "integer", description: "Bytes from the client." },
  bytes_out: { type: "integer", description: "Bytes to the client." },
  steps,
});

export const connectionListSchema = object("A page of connections.", {
  connections: { ...list("The connections.", { $ref: schemaRef("Connection") }), maxItems: 100 },
  uri: text("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last page."),
  incomplete: missingSchema,
});

export const requestListSchema = object("A page of requests.", {
  requests: { ...list("The requests.", { $ref: schemaRef("Request") }), maxItems: 100 },
  uri: text("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last page."),
  incomplete: missingSchema,
});

const fieldList = (description: string): JsonSchema =>
  list(description, object("A header field.", { name: text("Name, lower case."), value: text("Value.") }));

export const explanationSchema = object("The simulated result for a request or connection.", {
  revision: { type: "integer", description: "Revision of the configuration." },
  edge: orNull(decider),
  source_country: textOrNull("Country of the client (ISO 3166-1 alpha-2), given or looked up; null if it is unknown."),
  route: orNull(
    object("The route that matches.", { id: text("Its id."), revision: { type: "integer", description: "Revision." } }),
  ),
  near_routes: list(
    "Routes that almost match.",
    object("A route that does not match, with the reason.", {
      id: text("Its id."),
      match_type: text("Match type."),
      match: text("Match value."),
      reason: text("Reason why it does not match."),
    }),
  ),
  outcome,
  status_code: {
    type: ["integer", "null"],
    description: "The edge's response; null if the request goes upstream.",
  },
  error_code: textOrNull("Error code in the response."),
  steps,
  backend: orNull(decider),
  tunnel: orNull(tunnel("The chosen tunnel.")),
  address: textOrNull("Address of a static backend."),
  request_headers: fieldList("Header fields as the upstream would get them."),
  response: orNull(
    object("The simulated response as the client would get it.", {
      status_code: { type: "integer", description: "Status." },
      headers: fieldList("Header fields."),
    }),
  ),
});
