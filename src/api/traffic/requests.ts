/** Operations on ended requests at the edge, which show why a visitor was denied. */
import type { RequestTrace } from "../../routing/planes/edge-questions.ts";
import { exampleRequest } from "./traffic-examples.ts";
import type { EndedTraffic } from "./ended-traffic.ts";
import { requestQuery, trafficQuery } from "./filter-query.ts";
import { requestListSchema, requestSchema, stepSchema } from "./traffic-schemas.ts";
import { viewOfTunnel } from "./serving-tunnel.ts";
import { renderSteps } from "./render-steps.ts";

export const endedRequests: EndedTraffic<RequestTrace> = {
  plural: "requests",
  singular: "request",
  ids: { list: "listRequests", get: "getRequest" },
  schemaName: "Request",
  summaries: {
    list: "List recent requests, newest first: all that were denied, answered at the edge or failed, and a sample of the others.",
    get: "Get a recent request with all its decisions, by the request id in its response.",
  },
  schema: requestSchema,
  listSchema: requestListSchema,
  schemas: { Step: stepSchema },
  example: exampleRequest,
  query: [...trafficQuery, ...requestQuery],
  outcomes: ["forwarded", "answered", "denied", "failed"],
  tracesIn: (answer) =>
    answer.name === "requests" ? { traces: answer.requests, more: answer.more, missing: answer.missing } : undefined,
  view: (trace, uri) => ({
    id: trace.id,
    uri,
    ended_at: new Date(trace.endedAt).toISOString(),
    method: trace.method,
    host: trace.host,
    path: trace.path,
    source_ip: trace.source,
    source_country: trace.sourceCountry || null,
    site_id: trace.siteId,
    route_id: trace.routeId ?? null,
    tunnel: viewOfTunnel(trace.tunnel),
    outcome: trace.outcome,
    status_code: trace.status,
    error_code: trace.errorCode ?? null,
    duration_ms: trace.durationMs,
    upstream_ms: trace.upstreamMs ?? null,
    bytes_in: trace.bytesIn,
    bytes_out: trace.bytesOut,
    cut_short: trace.cutShort,
    captured: trace.captured === true,
    trace_id: trace.traceId ?? null,
    steps: renderSteps(trace.steps),
  }),
};
