/** What the edges report of agents: sessions, tunnels and endpoints, as objects like the stored ones. */
import { wildcardBase } from "../../lib/host-cover.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { SessionReport, TunnelReport } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { makeLabelIndex } from "./label-index.ts";
import { asEndpoint, servedBy } from "./cloud-endpoints.ts";
import { edgeEndpoints } from "./edge-endpoints.ts";

export interface LiveObjects extends EdgeObserver {
  get(accountId: string, kind: string, id: string): StoredObject | undefined;
  /** Newest first, of those that sort before `beforeId`. */
  page(
    accountId: string,
    kind: string,
    request: { readonly limit: number; readonly beforeId: string | undefined },
  ): { readonly objects: readonly StoredObject[]; readonly more: boolean };
  /** What a stored cloud endpoint shows beyond its document. */
  cloudEndpoint(object: StoredObject): Doc;
  /** Ids of the account's online tunnels that have all of `labels`. */
  matchingTunnels(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** Ids of the account's tunnel group backends that a tunnel with `labels` serves. */
  matchingBackends(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** Whether an agent holds this host and port now, and for which account. */
  holderOfHostport(hostport: string): { readonly accountId: string; readonly tunnelId: string } | undefined;
  /** The account's endpoints that agents serve, in no particular order. */
  agentEndpoints(accountId: string): readonly StoredObject[];
  /** Whether an agent of another account serves `name` or, for a wildcard, a name below it. Lower case. */
  hasForeignHost(name: string, accountId: string): boolean;
  count(kind: "tunnel_session" | "tunnel"): number;
}

/** Kinds of backends that need no agent. */
const alwaysOnline = ["static_backend", "http_response_backend"];

type Kept = Map<string, Map<string, StoredObject>>;

export function openLiveObjects(store: Store): LiveObjects {
  const kinds: Readonly<Record<string, Kept>> = {
    tunnel_session: new Map(),
    tunnel: new Map(),
    endpoint: new Map(),
  };
  const reports = new Map<string, { readonly report: TunnelReport; readonly line: EdgeLine }>();
  const sessions = new Map<string, { readonly accountId: string; readonly line: EdgeLine }>();
  const hostports = new Map<string, { accountId: string; tunnelId: string }>();
  /** Hosts of HTTP and TLS endpoints, whatever their port; an address of TCP is its port. */
  const hosts = new Map<string, { accountId: string; tunnelId: string }>();
  const tunnels = makeLabelIndex<TunnelReport>();
  const backends = makeLabelIndex<StoredObject>();
  const isBackend = new Set(["tunnel_group_backend"]);
  const labelsOf = (object: StoredObject) => object.doc["labels"] as Readonly<Record<string, string>>;
  for (const object of store.objects(isBackend)) backends.add(object.account_id, object.id, labelsOf(object), object);
  store.subscribe((commit) => {
    for (const { kind, before, after } of commit.changes) {
      if (!isBackend.has(kind)) continue;
      if (before) backends.remove(before.account_id, before.id, labelsOf(before));
      if (after) backends.add(after.account_id, after.id, labelsOf(after), after);
    }
  });

  const put = (kind: string, object: StoredObject): void => {
    const kept = kinds[kind] as Kept;
    let ofAccount = kept.get(object.account_id);
    if (!ofAccount) kept.set(object.account_id, (ofAccount = new Map()));
    ofAccount.set(object.id, object);
  };
  const drop = (kind: string, accountId: string, id: string): void => {
    const ofAccount = (kinds[kind] as Kept).get(accountId);
    ofAccount?.delete(id);
    if (ofAccount?.size === 0) (kinds[kind] as Kept).delete(accountId);
  };
  const closeTunnel = (tunnelId: string): void => {
    const report = reports.get(tunnelId)?.report;
    if (!report) return;
    reports.delete(tunnelId);
    drop("tunnel", report.accountId, tunnelId);
    if (report.labels) tunnels.remove(report.accountId, tunnelId, report.labels);
    if (!report.endpoint) return;
    drop("endpoint", report.accountId, report.endpoint.id);
    const hostport = hostportOf(report.endpoint.publicUrl);
    if (hostports.get(hostport)?.tunnelId === tunnelId) hostports.delete(hostport);
    const host = hostOf(hostport);
    if (hosts.get(host)?.tunnelId === tunnelId) hosts.delete(host);
  };
  const openTunnel = (report: TunnelReport, line: EdgeLine): void => {
    closeTunnel(report.id);
    reports.set(report.id, { report, line });
    put("tunnel", liveObject("tunnel", report.id, report.accountId, report.startedAt, tunnelDoc(report)));
    if (report.labels) tunnels.add(report.accountId, report.id, report.labels, report);
    if (!report.endpoint) return;
    const { id, publicUrl } = report.endpoint;
    const holder = { accountId: report.accountId, tunnelId: report.id };
    hostports.set(hostportOf(publicUrl), holder);
    if (report.endpoint.proto !== "tcp") hosts.set(hostOf(hostportOf(publicUrl)), holder);
    put("endpoint", liveObject("endpoint", id, report.accountId, report.startedAt, endpointDoc(report, store)));
  };
  const closeSession = (id: string): void => {
    drop("tunnel_session", sessions.get(id)?.accountId ?? "", id);
    sessions.delete(id);
  };
  const matchingTunnels: LiveObjects["matchingTunnels"] = (accountId, labels) => tunnels.having(accountId, labels);
  const objectsOf = (accountId: string, kind: string): Map<string, StoredObject> => {
    const kept = kinds[kind]?.get(accountId) ?? new Map<string, StoredObject>();
    if (kind !== "endpoint") return kept;
    const online = (backend: StoredObject) => matchingTunnels(accountId, labelsOf(backend)).length > 0;
    const all = new Map(kept);
    const groups = backends.values(accountId).filter(online);
    const always = alwaysOnline.flatMap((one) => store.page(accountId, one, { limit: Infinity }).objects);
    for (const found of edgeEndpoints(store, accountId, [...groups, ...always])) all.set(found.id, found);
    return all;
  };
  return {
    get(accountId, kind, id) {
      const cloud = kind === "endpoint" ? store.get(accountId, "cloud_endpoint", id) : undefined;
      return cloud ? asEndpoint(store, cloud) : objectsOf(accountId, kind).get(id);
    },
    page(accountId, kind, { limit, beforeId }) {
      const all = [...objectsOf(accountId, kind).values()].filter((one) => beforeId === undefined || one.id < beforeId);
      if (kind === "endpoint") {
        const request = { limit: limit + 1, ...(beforeId !== undefined && { beforeId }) };
        const cloud = store.page(accountId, "cloud_endpoint", request).objects;
        all.push(...cloud.map((one) => asEndpoint(store, one)));
      }
      all.sort((left, right) => (left.id < right.id ? 1 : -1));
      return { objects: all.slice(0, limit), more: all.length > limit };
    },
    cloudEndpoint: (object) => servedBy(store, object),
    matchingTunnels,
    matchingBackends: (accountId, labels) => backends.within(accountId, labels),
    holderOfHostport: (hostport) => hostports.get(hostport),
    agentEndpoints: (accountId) => [...(kinds["endpoint"]?.get(accountId)?.values() ?? [])],
    hasForeignHost(name, accountId) {
      const holder = hosts.get(name);
      if (holder && holder.accountId !== accountId) return true;
      const base = wildcardBase(name);
      if (base === undefined) return false;
      for (const [host, { accountId: other }] of hosts) {
        if (other !== accountId && host.endsWith(`.${base}`)) return true;
      }
      return false;
    },
    count: (kind) => [...(kinds[kind] as Kept).values()].reduce((sum, ofAccount) => sum + ofAccount.size, 0),
    receive(message, line) {
      switch (message.type) {
        case "hello":
          for (const [id, one] of reports) if (one.line === line) closeTunnel(id);
          for (const [id, one] of sessions) if (one.line === line) closeSession(id);
          return;
        case "session_opened": {
          const { session } = message;
          const doc = sessionDoc(session);
          sessions.set(session.id, { accountId: session.accountId, line });
          put("tunnel_session", liveObject("tunnel_session", session.id, session.accountId, session.startedAt, doc));
          return;
        }
        case "session_closed":
          closeSession(message.sessionId);
          return;
        case "tunnel_opened":
          openTunnel(message.tunnel, line);
          return;
        case "tunnel_closed":
          closeTunnel(message.tunnelId);
      }
    },
  };
}

function liveObject(kind: string, id: string, accountId: string, createdAt: string, doc: Doc): StoredObject {
  return { kind, id, account_id: accountId, revision: 0, created_at: createdAt, doc };
}

/** Host and port that a public URL is reached at. */
function hostportOf(publicUrl: string): string {
  const url = new URL(publicUrl);
  const port = url.port === "" ? { "http:": "80", "https:": "443", "tls:": "443" }[url.protocol] : url.port;
  return `${url.hostname}:${port ?? "0"}`;
}

function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":"));
}

function sessionDoc(report: SessionReport): Doc {
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

function tunnelDoc(report: TunnelReport): Doc {
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

function endpointDoc(report: TunnelReport, store: Store): Doc {
  const { proto, publicUrl } = report.endpoint as NonNullable<TunnelReport["endpoint"]>;
  const hostport = hostportOf(publicUrl);
  const host = hostOf(hostport);
  const credential = store.get(report.accountId, "credential", report.credentialId);
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
    metadata: report.metadata,
    domain: store.holder(report.accountId, "domain", host)?.id ?? null,
    tunnel: report.id,
    tunnel_session: report.sessionId,
    principal: credential?.doc["owner_id"] ?? null,
    upstream_url: report.forwardsTo,
    bindings: ["public"],
  };
}
