/** Schemas of the edge's traffic data. */
import { missingSchema } from "./missing.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { listSchema, object, orNull, textSchema, textOrNull } from "../operation/shapes.ts";

const decider = object("An object of the configuration, at the revision that decided.", {
  kind: textSchema("Its kind, e.g. `ip_policy_rule`."),
  id: textSchema("Its id."),
  revision: { type: "integer", description: "Its revision." },
});

const policyRule = object("A rule of a traffic policy in a dry run.", {
  phase: textSchema("Its phase."),
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
  values: listSchema(
    "Its evaluated expressions, up to the first one that is not true.",
    object("An expression.", {
      expression: textSchema("Source text."),
      outcome: { type: "string", enum: ["true", "false", "error"], description: "Its value." },
      parts: listSchema(
        "Values of its parts, in order of evaluation.",
        object("A part.", { text: textSchema("Source text."), value: textSchema("Its value.") }),
      ),
    }),
  ),
  actions: listSchema(
    "Effects of its actions.",
    object("An action.", {
      type: textSchema("Its type."),
      outcome: textSchema("Outcome of the step."),
      reason: textSchema("Effect of the step."),
    }),
  ),
});

export const stepSchema = object("A decision of the router, a module or a backend, with its reason.", {
  by: textSchema("Name of the module, `router` or `backend`."),
  outcome: { type: "string", enum: ["passed", "changed", "denied", "answered", "skipped"], description: "What." },
  reason: textSchema("Why."),
  decided_by: orNull(decider),
  rule: orNull(policyRule),
});

const outcome: JsonSchema = {
  type: "string",
  enum: ["forwarded", "answered", "denied", "failed"],
  description: "Outcome: sent to an upstream, answered or denied at the edge, or failed.",
};
const steps = listSchema("The decisions, in order.", { $ref: schemaRef("Step") });
const numberSchema = (description: string): JsonSchema => ({ type: "number", description });

const sourceCountry = textOrNull(
  "Present country of this address (ISO 3166-1 alpha-2); null if it is unknown, or if no rule and no setting of the server uses locations.",
);

const tunnelSchema = (description: string): JsonSchema =>
  object(description, {
    id: textSchema("Its id."),
    tunnel_session_id: textSchema("Id of the session."),
    forwards_to: textSchema("Address to which the agent forwards."),
  });

export const requestSchema = object("A request that has ended at the edge.", {
  id: textSchema("Id of the request, as in its response."),
  uri: textSchema("URI of the request."),
  ended_at: { type: "string", format: "date-time", description: "End time." },
  method: textSchema("Method."),
  host: textSchema("Host, lower case, without port."),
  path: textSchema("Path in canonical form, without query."),
  source_ip: textSchema("Address of the client."),
  source_country: sourceCountry,
  site_id: textSchema("Id of the edge or endpoint."),
  route_id: textOrNull("Id of the route that matched."),
  tunnel: orNull(tunnelSchema("The tunnel of the request; null if it used none.")),
  outcome,
  status_code: { type: "integer", description: "Status of the response; 0 if there was none." },
  error_code: textOrNull("Error code in the response."),
  duration_ms: numberSchema("Milliseconds from the header to the end."),
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
  id: textSchema("Id of the connection, as in the log and its event."),
  uri: textSchema("URI of the connection."),
  ended_at: { type: "string", format: "date-time", description: "End time." },
  protocol: { type: "string", enum: ["tls", "tcp"], description: "Protocol of the edge or endpoint." },
  server_name: textOrNull("Host in the TLS client's request."),
  port: { type: ["integer", "null"], description: "Port of the connection; null if it was not accepted." },
  source_ip: textSchema("Address of the client."),
  source_country: sourceCountry,
  site_id: textSchema("Id of the edge or endpoint."),
  outcome: {
    type: "string",
    enum: ["served", "denied", "broken", "account_limit", "no_upstream", "abandoned"],
    description:
      "Outcome: forwarded, denied, closed because of an edge error or an account limit, without an upstream, or closed by the client first.",
  },
  error_code: textOrNull("Code of the error that ended it. Clients of connections do not see it."),
  duration_ms: numberSchema("Duration, milliseconds."),
  bytes_in: { type: "integer", description: "Bytes from the client." },
  bytes_out: { type: "integer", description: "Bytes to the client." },
  steps,
});

export const connectionListSchema = object("A page of connections.", {
  connections: { ...listSchema("The connections.", { $ref: schemaRef("Connection") }), maxItems: 100 },
  uri: textSchema("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last page."),
  incomplete: missingSchema,
});

export const requestListSchema = object("A page of requests.", {
  requests: { ...listSchema("The requests.", { $ref: schemaRef("Request") }), maxItems: 100 },
  uri: textSchema("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last page."),
  incomplete: missingSchema,
});

const fieldList = (description: string): JsonSchema =>
  listSchema(
    description,
    object("A header field.", { name: textSchema("Name, lower case."), value: textSchema("Value.") }),
  );

export const explanationSchema = object("The simulated result for a request or connection.", {
  revision: { type: "integer", description: "Revision of the configuration." },
  edge: orNull(decider),
  source_country: textOrNull("Country of the client (ISO 3166-1 alpha-2), given or looked up; null if it is unknown."),
  route: orNull(
    object("The route that matches.", {
      id: textSchema("Its id."),
      revision: { type: "integer", description: "Revision." },
    }),
  ),
  near_routes: listSchema(
    "Routes that almost match.",
    object("A route that does not match, with the reason.", {
      id: textSchema("Its id."),
      match_type: textSchema("Match type."),
      match: textSchema("Match value."),
      reason: textSchema("Reason why it does not match."),
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
  tunnel: orNull(tunnelSchema("The chosen tunnel.")),
  address: textOrNull("Address of a static backend."),
  request_headers: fieldList("Header fields as the upstream would get them."),
  response: orNull(
    object("The simulated response as the client would get it.", {
      status_code: { type: "integer", description: "Status." },
      headers: fieldList("Header fields."),
    }),
  ),
});
