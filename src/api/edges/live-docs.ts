/** What an edge reports of agents, as objects like the stored ones. */
import { isInternalName } from "../../lib/internal-names.ts";
import { hostOf, hostportOf } from "../../directory/served-names.ts";
import type { SessionReport, TunnelReport } from "../../directory/reports.ts";
import { credential as credentials } from "../../resources/credential.ts";
import { endpoint as endpoints } from "../../resources/endpoint.ts";
import { tunnelSession } from "../../resources/tunnel-session.ts";
import { tunnel } from "../../resources/tunnel.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";

export function sessionObject(report: SessionReport): StoredObject {
  return liveObject(tunnelSession.name, report, sessionDoc(report));
}

export function tunnelObject(report: TunnelReport): StoredObject {
  return liveObject(tunnel.name, report, tunnelDoc(report));
}

/** The endpoint of a tunnel that has one. */
export function endpointObject(report: TunnelReport, reader: Reader): StoredObject | undefined {
  const { endpoint, accountId, startedAt } = report;
  return (
    endpoint &&
    liveObject(endpoints.name, { id: endpoint.id, accountId, startedAt }, endpointDoc(report, endpoint, reader))
  );
}

function liveObject<D>(
  kind: string,
  { id, accountId, startedAt }: Pick<SessionReport, "id" | "accountId" | "startedAt">,
  doc: D,
): StoredObject<D> {
  return { kind, id, account_id: accountId, revision: 0, created_at: startedAt, doc };
}

function sessionDoc(report: SessionReport): DocOf<typeof tunnelSession> {
  return {
    agent_version: report.agentVersion,
    credential: report.credentialId,
    ip: report.ip,
    metadata: report.metadata,
    os: report.os,
    region: report.region,
    started_at: report.startedAt,
    transport: report.transport,
  };
}

function tunnelDoc(report: TunnelReport): DocOf<typeof tunnel> {
  return {
    public_url: report.endpoint?.publicUrl ?? "",
    started_at: report.startedAt,
    metadata: report.metadata,
    proto: report.endpoint?.proto ?? "",
    region: report.region,
    tunnel_session: report.sessionId,
    endpoint: report.endpoint?.id ?? null,
    labels: report.labels ?? {},
    forwards_to: report.forwardsTo,
  };
}

function endpointDoc(
  report: TunnelReport,
  { proto, publicUrl, name = "", description = "", pooled = false }: NonNullable<TunnelReport["endpoint"]>,
  reader: Reader,
): Partial<DocOf<typeof endpoints>> {
  const hostport = hostportOf(publicUrl);
  const host = hostOf(hostport);
  const credential = reader.get(report.accountId, credentials.name, report.credentialId);
  return {
    region: report.region,
    created_at: report.startedAt,
    updated_at: report.startedAt,
    public_url: publicUrl,
    url: publicUrl,
    proto,
    scheme: proto,
    hostport,
    host,
    port: Number(hostport.slice(host.length + 1)),
    type: "ephemeral",
    name,
    description,
    metadata: report.metadata,
    domain: reader.holder(report.accountId, "domain", host)?.id ?? null,
    tunnel: report.id,
    tunnel_session: report.sessionId,
    principal: credential ? docOf(credential, credentials).owner_id : null,
    upstream_url: report.forwardsTo,
    bindings: [isInternalName(host) ? "internal" : "public"],
    pooling_enabled: pooled,
  };
}
