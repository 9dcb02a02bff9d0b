/** Reports finished traffic of subscribed accounts to the control plane. */
import type { LoginEventDetails, LoginEventType } from "../../identity/sessions/login-events.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import { loginDecision } from "../../traffic/variables/decision-variables.ts";
import type { Step } from "../../traffic/step.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import { codeOf, outcomeOf } from "../../routing/planes/edge-questions.ts";
import type { RequestReport, TrafficReport } from "../../routing/planes/traffic.ts";
import type { TrafficWanted } from "../../routing/planes/traffic.ts";
import { protocolOf } from "../connections/closed-connection.ts";
import type { ClosedConnection } from "../connections/closed-connection.ts";
import type { FinishedExchange } from "../http/http-context.ts";

export interface TrafficReportsOptions {
  readonly send: (message: Upward) => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly limits?: Partial<TrafficReportLimits>;
}

export interface TrafficReportLimits {
  /** Maximum number of waiting reports, of one account and in total. Further ones are dropped. */
  readonly perAccount: number;
  readonly total: number;
  /** Maximum number of reports per message. */
  readonly batch: number;
  /** Maximum number of unacknowledged messages. Beyond it, reports wait. */
  readonly underWay: number;
  /** Maximum time that a report waits for others, milliseconds. */
  readonly lingerMs: number;
}

export interface TrafficReports {
  /** Replaces the subscriptions. */
  want(wanted: readonly TrafficWanted[]): void;
  /** Acknowledges all batches up to this one. */
  taken(batch: number): void;
  /** Costs next to nothing without subscriptions. */
  request(exchange: FinishedExchange): void;
  connection(closed: ClosedConnection): void;
  login(type: LoginEventType, accountId: string, make: () => LoginEventDetails): void;
  /** Sends the waiting reports, regardless of unacknowledged messages. */
  close(): void;
}

const defaultLimits: TrafficReportLimits = Object.freeze({
  perAccount: 5_000,
  total: 20_000,
  batch: 500,
  underWay: 4,
  lingerMs: 200,
});
const maxPath = 2048;
const maxUserAgent = 512;

export function makeTrafficReports({ send, clock, metrics, ...options }: TrafficReportsOptions): TrafficReports {
  const limits = { ...defaultLimits, ...options.limits };
  let wanted = new Map<string, ReadonlySet<TrafficReport["type"]>>();
  let waiting: TrafficReport[] = [];
  const ofAccount = new Map<string, number>();
  const dropped = new Map<string, number>();
  let droppedTotal = 0;
  let sent = 0;
  let taken = 0;
  let timer: Timer | undefined;
  metrics.counterOf(
    "postern_traffic_events_dropped_total",
    "Traffic events that the edge discarded because too many were waiting.",
    () => droppedTotal,
  );

  const sendBatch = (): void => {
    const reports = waiting.slice(0, limits.batch);
    waiting = waiting.slice(limits.batch);
    for (const { accountId } of reports) {
      const left = (ofAccount.get(accountId) ?? 1) - 1;
      if (left > 0) ofAccount.set(accountId, left);
      else ofAccount.delete(accountId);
    }
    sent += 1;
    send({ type: "traffic", batch: sent, reports, dropped: [...dropped] });
    dropped.clear();
  };
  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    while (waiting.length > 0 && sent - taken < limits.underWay) sendBatch();
  };
  const put = (report: TrafficReport): void => {
    const { accountId } = report;
    const count = ofAccount.get(accountId) ?? 0;
    if (count >= limits.perAccount || waiting.length >= limits.total) {
      dropped.set(accountId, (dropped.get(accountId) ?? 0) + 1);
      droppedTotal += 1;
      return;
    }
    ofAccount.set(accountId, count + 1);
    waiting.push(report);
    if (waiting.length % limits.batch === 0) flush();
    else if (waiting.length < limits.batch) timer ??= clock.after(limits.lingerMs, flush);
  };
  return {
    want(accounts) {
      wanted = new Map(accounts.map(({ accountId, types }) => [accountId, new Set(types)]));
      // A restarted control plane has not received the unacknowledged batches and will not acknowledge them.
      taken = sent;
      flush();
    },
    taken(batch) {
      taken = Math.max(taken, Math.min(batch, sent));
      flush();
    },
    request(exchange) {
      if (wanted.size === 0 || exchange.accountId === undefined) return;
      if (wanted.get(exchange.accountId)?.has("http_request_complete.v0")) {
        put(requestReport(exchange, exchange.accountId, clock.now()));
      }
    },
    connection({ id, site, source, facts, steps, logs, outcome, bytesIn, bytesOut }) {
      if (wanted.size === 0 || !wanted.get(site.accountId)?.has("tcp_connection_closed.v0")) return;
      const now = clock.now();
      put({
        type: "tcp_connection_closed.v0",
        id,
        accountId: site.accountId,
        endedAt: now,
        durationMs: facts ? Math.max(0, now - facts.startedAt) : 0,
        siteId: site.id,
        ...upstreamOf(steps),
        source,
        sourcePort: facts?.sourcePort ?? null,
        tls: tlsOf(facts),
        bytesIn,
        bytesOut,
        logs: logs ?? [],
        decision: decisionOf(steps),
        protocol: protocolOf(site),
        outcome,
      });
    },
    login(type, accountId, make) {
      if (wanted.get(accountId)?.has(type)) put({ type, accountId, at: clock.now(), ...make() });
    },
    close() {
      timer?.cancel();
      while (waiting.length > 0) sendBatch();
    },
  };
}

function requestReport(exchange: FinishedExchange, accountId: string, endedAt: number): RequestReport {
  const { id, method, host, status, connection, request, steps, cutShort } = exchange;
  const last = steps.at(-1);
  return {
    type: "http_request_complete.v0",
    accountId,
    endedAt,
    durationMs: Math.round(exchange.durationMs * 1000) / 1000,
    siteId: exchange.siteId ?? "",
    ...upstreamOf(steps),
    source: exchange.source,
    sourcePort: connection.sourcePort,
    tls: tlsOf(connection),
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.bytesOut,
    logs: exchange.logs ?? [],
    decision: decisionOf(steps),
    id,
    routeId: exchange.routeId ?? null,
    method,
    scheme: request.scheme,
    host,
    path: exchange.path.slice(0, maxPath),
    httpVersion: request.httpVersion,
    userAgent: request.headers.getAll("user-agent").join(", ").slice(0, maxUserAgent),
    websocket: request.websocket,
    status,
    outcome: cutShort ? "failed" : outcomeOf(last, last?.answer, status),
    errorCode: codeOf(last?.answer) ?? null,
    cutShort,
    logins: loginsOf(exchange),
  };
}

function loginsOf({ login, steps }: FinishedExchange): RequestReport["logins"] {
  const decision = loginDecision(steps);
  const isSaml = login?.module === "saml";
  const visitor = isSaml ? undefined : login;
  const user = visitor ? { id: visitor.subject, email: visitor.email, name: visitor.name } : null;
  return {
    oauth: decision === "" ? null : { app_client_id: visitor?.clientId ?? null, decision, user },
    saml: isSaml ? { subject: login.subject } : null,
  };
}

function upstreamOf(steps: readonly Step[]): { readonly backendId: string | null; readonly tunnelId: string | null } {
  const step = steps.findLast(({ by, outcome }) => by === "backend" && outcome !== "skipped");
  return { backendId: step?.decidedBy?.id ?? null, tunnelId: step?.tunnelId ?? null };
}

function decisionOf(steps: readonly Step[]): RequestReport["decision"] {
  const last = steps.at(-1);
  return last ? { by: last.by, outcome: last.outcome, reason: last.reason } : null;
}

function tlsOf(facts: ConnectionFacts | undefined): RequestReport["tls"] {
  const tls = facts?.tls;
  return tls ? { version: tls.version, cipher: tls.cipher, serverName: tls.serverName } : null;
}
