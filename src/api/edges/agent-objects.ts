/** Sessions, tunnels and endpoints of agents, as objects in the form of stored ones. */
import type { Agents } from "../../directory/replica.ts";
import { isInternalName } from "../../lib/internal-names.ts";
import { hostOf, hostportOf } from "../../directory/agent-reports.ts";
import type { SessionReport, TunnelReport } from "../../directory/agent-reports.ts";
import { credential as credentials } from "../../resources/credential.ts";
import { endpoint as endpoints } from "../../resources/endpoint.ts";
import { tunnelSession } from "../../resources/tunnel-session.ts";
import { tunnel } from "../../resources/tunnel.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";

/** The objects of one kind and account. Each object is created when a caller gets it. */
export interface ObjectsById {
  get(id: string): StoredObject | undefined;
  keys(): Iterable<string>;
}

export interface AgentObjects {
  sessions(accountId: string): ObjectsById;
  tunnels(accountId: string): ObjectsById;
  endpoints(accountId: string): ObjectsById;
}

/** @param agents the agents of this node's edges first, then those of other nodes */
export function makeAgentObjects(reader: Reader, agents: () => readonly Agents[]): AgentObjects {
  const objects =
    <Report extends { readonly accountId: string }>(
      of: Parameters<Agents["ids"]>[0],
      find: (one: Agents, id: string) => Report | undefined,
      objectOf: (report: Report) => StoredObject | undefined,
    ) =>
    (accountId: string): ObjectsById => ({
      get(id) {
        for (const one of agents()) {
          const report = find(one, id);
          if (report) return report.accountId === accountId ? objectOf(report) : undefined;
        }
        return undefined;
      },
      // An agent that moves may briefly be at two places.
      keys: () => new Set(agents().flatMap((one) => [...one.ids(of, accountId)])),
    });
  return {
    sessions: objects("sessions", (one, id) => one.session(id), sessionObject),
    tunnels: objects("tunnels", (one, id) => one.tunnel(id), tunnelObject),
    endpoints: objects(
      "endpoints",
      (one, id) => one.tunnelOfEndpoint(id),
      (report) => endpointObject(report, reader),
    ),
  };
}

function sessionObject(report: SessionReport): StoredObject {
  return liveObject(tunnelSession.name, report, sessionDoc(report));
}

function tunnelObject(report: TunnelReport): StoredObject {
  return liveObject(tunnel.name, report, tunnelDoc(report));
}

/** Returns the endpoint of a tunnel, if it has one. */
function endpointObject(report: TunnelReport, reader: Reader): StoredObject | undefined {
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
