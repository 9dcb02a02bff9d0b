/** A record as JSON text, in the form of the API: one line of an export. */
import { X509Certificate } from "node:crypto";
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { CapturedRequest } from "./captured-request.ts";

/** @param withContent whether header fields and the body are included */
export function renderWhole(record: CapturedRequest, withContent: boolean): string {
  const { request, connection, visitor, decision, upstream } = record;
  const { tls } = connection;
  return JSON.stringify({
    id: record.id,
    received_at: new Date(record.receivedAt / 1000).toISOString(),
    node_id: record.nodeId,
    site_id: record.siteId,
    route_id: record.routeId ?? null,
    revision: record.revision,
    method: request.method,
    scheme: request.scheme,
    http_version: request.httpVersion,
    authority: request.authority,
    target: request.target,
    path: request.path,
    ...(withContent && {
      headers: request.headers,
      redacted: request.redacted,
      body: request.body?.toString("base64") ?? null,
    }),
    source_ip: connection.source,
    source_port: connection.sourcePort,
    tls: tls
      ? {
          version: tls.version,
          cipher: tls.cipher,
          server_name: tls.serverName,
          alpn: tls.alpn,
          ja4: tls.ja4,
          client_certificate: certificateOf(tls.clientCertificate),
        }
      : null,
    visitor: visitor
      ? {
          user_id: visitor.userId,
          email: visitor.email,
          name: visitor.name,
          groups: visitor.groups,
          module: visitor.module,
        }
      : null,
    outcome: decision.outcome,
    status_code: decision.status,
    error_code: decision.errorCode ?? null,
    backend_id: decision.backendId ?? null,
    tunnel_id: decision.tunnel?.id ?? null,
    steps: decision.steps.map(({ by, outcome, reason, decidedBy }) => ({
      by,
      outcome,
      reason,
      decided_by: decidedBy ?? null,
    })),
    upstream: upstream
      ? { status_code: upstream.status, waited_ms: upstream.waitedMs, ...headersOf(upstream.headers, withContent) }
      : null,
    duration_ms: record.durationMs,
    bytes_in: record.bytesIn,
    bytes_out: record.bytesOut,
    cut_short: record.cutShort,
  });
}

function headersOf(headers: HeaderPairs, withContent: boolean): object {
  return withContent ? { headers } : {};
}

function certificateOf(der: Buffer | undefined): object | null {
  if (der === undefined) return null;
  try {
    const { subject, fingerprint256 } = new X509Certificate(der);
    return { subject, fingerprint256 };
  } catch {
    return null;
  }
}
