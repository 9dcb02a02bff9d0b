import type { RequestTrace } from "../routing/planes/edge-questions.ts";
import type { CapturedRequest } from "./captured-request.ts";

/** Returns a record in the form of a recent request. */
export function traceOf(record: CapturedRequest): RequestTrace {
  const { request, decision, upstream, visitor } = record;
  return {
    id: record.id,
    captured: true,
    user: visitor && (visitor.email || visitor.userId),
    endedAt: Math.round(record.receivedAt / 1000 + record.durationMs),
    method: request.method,
    host: hostOf(request.authority),
    path: request.path,
    source: record.connection.source,
    siteId: record.siteId,
    routeId: record.routeId,
    tunnel: decision.tunnel,
    outcome: decision.outcome,
    status: decision.status,
    errorCode: decision.errorCode,
    durationMs: record.durationMs,
    upstreamMs: upstream?.waitedMs,
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    cutShort: record.cutShort,
    steps: decision.steps,
  };
}

/** The host of a Host field, as matched: lower case, without port and trailing dot. */
function hostOf(authority: string): string {
  return authority.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
}
