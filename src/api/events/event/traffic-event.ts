/** Renders a finished request or closed connection as an event for receivers. */
import { newId } from "../../../lib/ids.ts";
import type { ConnectionReport, InboxEvent, RequestReport, TrafficReport } from "../../../routing/planes/traffic.ts";
import type { Event } from "./event.ts";
import { loginEvent } from "./login-event.ts";

export function trafficEvent(report: TrafficReport): Event {
  if ("endedAt" in report) return makeTrafficEvent(report);
  return "object" in report ? inboxEvent(report) : loginEvent(report);
}

function inboxEvent({ type, accountId, at, object }: InboxEvent): Event {
  return eventOf(type, accountId, at, object);
}

function makeTrafficEvent(report: RequestReport | ConnectionReport): Event {
  const object = report.type === "http_request_complete.v0" ? requestObject(report) : connectionObject(report);
  return eventOf(report.type, report.accountId, report.endedAt, object);
}

function eventOf(type: string, accountId: string, at: number, object: Readonly<Record<string, unknown>>): Event {
  const id = newId("ev", at);
  const time = new Date(at).toISOString();
  const body = JSON.stringify({
    event_id: id,
    event_type: type,
    event_timestamp: time,
    account_id: accountId,
    principal: null,
    object,
  });
  // Reports are always short enough for every receiver.
  return { id, type, time, body, short: () => body };
}

function requestObject(report: RequestReport): Record<string, unknown> {
  return {
    ...commonFields(report),
    route_id: report.routeId,
    method: report.method,
    scheme: report.scheme,
    host: report.host,
    path: report.path,
    http_version: report.httpVersion,
    user_agent: report.userAgent,
    websocket: report.websocket,
    status_code: report.status,
    outcome: report.outcome,
    error_code: report.errorCode,
    cut_short: report.cutShort,
    ...report.logins,
  };
}

function connectionObject(report: ConnectionReport): Record<string, unknown> {
  return { ...commonFields(report), protocol: report.protocol, outcome: report.outcome };
}

function commonFields(report: RequestReport | ConnectionReport): Record<string, unknown> {
  const { endedAt, durationMs, tls } = report;
  return {
    id: report.id,
    started_at: new Date(endedAt - durationMs).toISOString(),
    ended_at: new Date(endedAt).toISOString(),
    duration_ms: durationMs,
    site_id: report.siteId,
    backend_id: report.backendId,
    tunnel_id: report.tunnelId,
    source_ip: report.source,
    source_port: report.sourcePort,
    tls: tls && { version: tls.version, cipher: tls.cipher, server_name: tls.serverName },
    bytes_in: report.bytesIn,
    bytes_out: report.bytesOut,
    decision: report.decision,
    logs: report.logs,
  };
}
