import type { NotedRequest, RawFields } from "../../../capture/format/record-writer.ts";
import type { CapturedRequest } from "../../../capture/record.ts";
import { codeOf, outcomeOf, stepReports } from "../../../routing/planes/questions.ts";
import type { FieldTable } from "../../../http1/field-table.ts";
import type { HeaderPairs } from "../../../traffic/header-list.ts";
import type { ConnectionFacts } from "../../../traffic/exchange.ts";
import type { Visitor } from "../../../traffic/login.ts";
import type { FinishedExchange } from "../../http/context.ts";

/** The place of an edge among all edges of the cluster. */
export interface CapturePlace {
  readonly nodeId: string;
  /** Number of the edge thread of the node. */
  readonly edge: number;
}

const noNames: readonly string[] = Object.freeze([]);

/** Converts a finished exchange of an account. Secret values are still in clear: the capture thread hashes them. */
export function toRecord(exchange: FinishedExchange, accountId: string, place: CapturePlace): CapturedRequest {
  const noted = noteOf(exchange, accountId, place);
  const { responded } = exchange;
  return {
    ...noted,
    request: { ...noted.request, headers: exchange.request.headers.received() },
    decision: { ...noted.decision, steps: stepReports(exchange.steps) },
    upstream: noted.upstream && { ...noted.upstream, headers: responded?.fields.received() ?? [] },
  };
}

/** Like `toRecord`, with the header fields as they were received, which costs the traffic thread the least. */
export function noteOf(exchange: FinishedExchange, accountId: string, place: CapturePlace): NotedRequest {
  const { request, steps, status, cutShort, responded, waitedMs = 0 } = exchange;
  const last = steps.at(-1);
  return {
    id: exchange.id,
    receivedAt: Math.round(exchange.receivedAt * 1000),
    nodeId: place.nodeId,
    edge: place.edge,
    accountId,
    siteId: exchange.siteId ?? "",
    routeId: exchange.routeId,
    revision: exchange.revision,
    request: {
      method: exchange.method,
      scheme: request.scheme,
      httpVersion: request.httpVersion,
      authority: request.hostField,
      target: request.target,
      path: exchange.path,
      headers: fieldsOf(request.headers),
      redacted: noNames,
      body: exchange.capturedBody,
      websocket: request.websocket,
      upgrade: request.upgrade,
    },
    connection: connectionOf(exchange.connection),
    visitor: exchange.login && visitorOf(exchange.login),
    decision: {
      steps,
      outcome: cutShort ? "failed" : outcomeOf(last, last?.answer, status),
      status,
      errorCode: codeOf(last?.answer),
      backendId: steps.findLast(({ by, outcome }) => by === "backend" && outcome !== "skipped")?.decidedBy?.id,
      tunnel: exchange.tunnel,
    },
    upstream: responded && { status: responded.status, headers: fieldsOf(responded.fields), waitedMs },
    durationMs: exchange.durationMs,
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.bytesOut,
    cutShort,
  };
}

/** Connections carry many requests. */
const connections = new WeakMap<ConnectionFacts, CapturedRequest["connection"]>();

function connectionOf(facts: ConnectionFacts): CapturedRequest["connection"] {
  let connection = connections.get(facts);
  if (connection === undefined) connections.set(facts, (connection = describe(facts)));
  return connection;
}

/** Positions of raw fields have 16 bits. */
function fieldsOf(fields: FieldTable): HeaderPairs | RawFields {
  const { raw } = fields;
  return raw.end - raw.start < 0x1_0000 ? raw : fields.received();
}

function describe(facts: ConnectionFacts): CapturedRequest["connection"] {
  const { tls, hello } = facts;
  return {
    source: facts.source,
    sourcePort: facts.sourcePort,
    localAddress: facts.local.localAddress,
    localPort: facts.localPort,
    startedAt: facts.startedAt,
    tls: tls && {
      version: tls.version,
      cipher: tls.cipher,
      serverName: tls.serverName,
      alpn: tls.alpn ?? "",
      offeredAlpn: hello?.alpn ?? noNames,
      ja4: hello?.ja4 ?? "",
      clientCertificate: tls.clientCertificate,
    },
  };
}

function visitorOf(visitor: Visitor): CapturedRequest["visitor"] {
  return {
    module: visitor.module,
    clientId: visitor.clientId,
    userId: visitor.session?.userId ?? visitor.subject,
    sessionId: visitor.session?.id ?? "",
    email: visitor.email,
    emailVerified: visitor.emailVerified,
    name: visitor.name,
    groups: visitor.groups ?? noNames,
  };
}
