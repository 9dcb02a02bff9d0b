/** Operations on closed and denied connections, with details that TLS and TCP clients do not get. */
import { trafficQuery } from "./filter-query.ts";
import type { ConnectionTrace } from "../../routing/planes/edge-questions.ts";
import { exampleClosedConnection } from "./traffic-examples.ts";
import type { EndedTraffic } from "./ended-traffic.ts";
import { connectionListSchema, connectionSchema } from "./traffic-schemas.ts";
import { renderSteps } from "./render-steps.ts";

export const endedConnections: EndedTraffic<ConnectionTrace> = {
  plural: "connections",
  singular: "connection",
  ids: { list: "listConnections", get: "getConnection" },
  schemaName: "Connection",
  summaries: {
    list: "List recent connections to TLS and TCP edges and endpoints, newest first: all that did not reach an upstream, and a sample of the others.",
    get: "Get a recent connection with all its decisions, by the id from the log or event. Each rule of a traffic policy is a step.",
  },
  schema: connectionSchema,
  listSchema: connectionListSchema,
  example: exampleClosedConnection,
  query: trafficQuery,
  outcomes: ["served", "denied", "broken", "account_limit", "no_upstream", "abandoned"],
  tracesIn: (answer) =>
    answer.name === "connections"
      ? { traces: answer.connections, more: answer.more, missing: answer.missing }
      : undefined,
  view: (trace, uri) => ({
    id: trace.id,
    uri,
    ended_at: new Date(trace.endedAt).toISOString(),
    protocol: trace.protocol,
    server_name: trace.serverName ?? null,
    port: trace.port ?? null,
    source_ip: trace.source,
    source_country: trace.sourceCountry || null,
    site_id: trace.siteId,
    outcome: trace.outcome,
    error_code: trace.errorCode ?? null,
    duration_ms: trace.durationMs,
    bytes_in: trace.bytesIn,
    bytes_out: trace.bytesOut,
    steps: renderSteps(trace.steps),
  }),
};
