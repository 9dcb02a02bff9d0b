/**
 * Spans of finished requests, and log records for the access log, in the form of OTLP. Loaded only if telemetry is sent.
 * The names of attributes are those of OpenTelemetry's semantic conventions, others begin with `postern.`.
 */
import { codeOf, outcomeOf } from "../../routing/planes/questions.ts";
import { spanAttribute as put, beginSpan, endSpan, spanEvent, writeSpan } from "../../telemetry/span.ts";
import type { SpanHead } from "../../telemetry/span.ts";
import type { HandOver } from "../../telemetry/hand-over.ts";
import { writeAccessRecord } from "../../telemetry/log-record.ts";
import type { ProtoWriter } from "../../telemetry/proto-writer.ts";
import { makeSampler } from "../../telemetry/sampler.ts";
import { joinTraceState, newSpanId, newTraceId, parseTraceparent } from "../../telemetry/trace-context.ts";
import type { Sampling } from "../../lib/telemetry-words.ts";
import type { Step } from "../../traffic/step.ts";
import type { TlsFacts } from "../../traffic/exchange.ts";
import type { ExchangeTrace, RequestTracing, TracedExchange } from "../http/exchange-trace.ts";
import type { FinishedExchange } from "../http/context.ts";
import { pathOf } from "./access/values.ts";

export interface TracingOptions {
  /** Absent if traces are not sent. */
  readonly spans: HandOver | undefined;
  /** Absent if the access log is not sent. */
  readonly access: HandOver | undefined;
  readonly sampling: Sampling;
  /** Whether traces continue a client's. */
  readonly continues: boolean;
}

export interface Tracing extends RequestTracing {
  /** Records a finished exchange, and sets its `trace`. */
  note(exchange: FinishedExchange): void;
}

interface Ended {
  readonly exchange: FinishedExchange;
  readonly trace: ExchangeTrace;
  /** Value of `error.type`. Undefined if neither the edge nor the upstream failed. */
  readonly error: string | undefined;
  readonly durationMs: number;
}

/** Methods that a span may have in its name (RFC 9110 and RFC 5789). */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]);

export function makeTracing({ spans, access, sampling, continues }: TracingOptions): Tracing {
  const isSampled = makeSampler(sampling);
  /** Handshakes that were recorded with the first recorded request of their connection. */
  const recorded = new WeakSet<TlsFacts>();
  const begin = ({ request: { headers } }: TracedExchange): ExchangeTrace => {
    const given = continues ? headers.getAll("traceparent") : [];
    const parent = given.length === 1 ? parseTraceparent(given[0] as string) : undefined;
    const traceId = parent?.traceId ?? newTraceId();
    return {
      traceId,
      spanId: newSpanId(),
      parentId: parent?.spanId,
      state: parent && joinTraceState(headers.getAll("tracestate")),
      isSampled: isSampled(traceId, parent),
      upstreamSpanId: undefined,
    };
  };
  return {
    forward(exchange, at) {
      exchange.sentAt = at;
      if (spans === undefined) return "";
      const trace = (exchange.trace ??= begin(exchange));
      const { headers } = exchange.request;
      headers.delete("traceparent");
      if (trace.state === undefined) headers.delete("tracestate");
      trace.upstreamSpanId = newSpanId();
      return `Traceparent: 00-${trace.traceId}-${trace.upstreamSpanId}-0${trace.isSampled ? 1 : 0}\r\n`;
    },
    note(exchange) {
      const trace = (exchange.trace ??= begin(exchange));
      const error = errorOf(exchange);
      const ended = { exchange, trace, error, durationMs: exchange.durationMs };
      access?.add((to) => writeAccess(to, ended));
      if (spans === undefined || (!trace.isSampled && error === undefined && !isDenied(exchange))) return;
      const { tls } = exchange.connection;
      const shows = tls?.completedAt !== undefined && !recorded.has(tls) ? tls : undefined;
      if (shows !== undefined) recorded.add(shows);
      spans.add((to) => {
        writeRequest(to, ended);
        if (shows !== undefined) writeHandshake(to, ended, shows);
        writeSteps(to, ended);
        writeForwarding(to, ended);
      });
    },
  };
}

function isDenied({ steps, status }: FinishedExchange): boolean {
  const last = steps.at(-1);
  return last?.answer !== undefined && outcomeOf(last, last.answer, status) !== "answered";
}

function errorOf({ cutShort, status, steps }: FinishedExchange): string | undefined {
  if (status >= 500) return codeOf(steps.at(-1)?.answer) ?? String(status);
  return cutShort ? "cut_short" : undefined;
}

function writeRequest(to: ProtoWriter, { exchange, trace, error, durationMs }: Ended): void {
  const { traceId, spanId, parentId, state, isSampled } = trace;
  const { method, status, request, connection, arrival, steps } = exchange;
  const name = methods.has(method) ? method : "HTTP";
  const start = beginSpan(to, {
    traceId,
    spanId,
    parentId,
    isRemote: parentId !== undefined,
    isSampled,
    traceState: state,
    name,
    kind: "server",
    startedAt: arrival.now,
    endedAt: arrival.now + durationMs,
    error: error === undefined ? undefined : "",
  });
  put(to, "http.request.method", methods.has(method) ? method : "_OTHER");
  if (!methods.has(method)) put(to, "http.request.method_original", method);
  put(to, "url.scheme", request.scheme);
  put(to, "url.path", pathOf(exchange));
  if (exchange.host !== "") put(to, "server.address", exchange.host);
  put(to, "server.port", connection.localPort);
  put(to, "client.address", connection.source);
  if (connection.sourcePort !== 0) put(to, "client.port", connection.sourcePort);
  put(to, "network.protocol.name", "http");
  put(to, "network.protocol.version", request.httpVersion);
  const agent = request.headers.get("user-agent");
  if (agent !== undefined) put(to, "user_agent.original", agent.slice(0, 500));
  if (status !== 0) put(to, "http.response.status_code", status);
  if (error !== undefined) put(to, "error.type", error);
  put(to, "http.request.body.size", exchange.bytesIn);
  put(to, "http.response.body.size", exchange.bytesOut);
  put(to, "postern.request.id", exchange.id);
  const last = steps.at(-1);
  put(to, "postern.outcome", exchange.cutShort ? "failed" : outcomeOf(last, last?.answer, status));
  if (exchange.accountId !== undefined) put(to, "postern.account.id", exchange.accountId);
  if (exchange.siteId !== undefined) put(to, "postern.site.id", exchange.siteId);
  if (exchange.routeId !== undefined) put(to, "postern.route.id", exchange.routeId);
  endSpan(to, start);
}

/** Head of a span within the edge's own span of a request. */
function within({ exchange, trace }: Ended, name: string, startedAt: number, endedAt: number): SpanHead {
  const { traceId, spanId, isSampled } = trace;
  const { now, monotonic } = exchange.arrival;
  return {
    traceId,
    spanId: newSpanId(),
    parentId: spanId,
    isSampled,
    name,
    kind: "internal",
    startedAt: now + (startedAt - monotonic),
    endedAt: now + (endedAt - monotonic),
    error: undefined,
  };
}

function writeHandshake(to: ProtoWriter, ended: Ended, tls: TlsFacts): void {
  const { startedAt } = ended.exchange.connection;
  const head = within(ended, "TLS handshake", 0, 0);
  writeSpan(
    to,
    { ...head, startedAt, endedAt: tls.completedAt ?? startedAt },
    {
      "tls.protocol.name": "tls",
      "tls.protocol.version": tls.version.replace(/^TLSv/, ""),
      "tls.cipher": tls.cipher,
      "tls.next_protocol": tls.alpn === "" ? undefined : tls.alpn,
    },
  );
}

/** A span for each module and rule that did something or took time. */
function writeSteps(to: ProtoWriter, ended: Ended): void {
  const { stepEnds, steps, arrival, sentAt, waitedMs } = ended.exchange;
  if (stepEnds === undefined) return;
  let before = arrival.monotonic;
  for (const [at, step] of steps.entries()) {
    const end = stepEnds[at];
    if (end === undefined) continue;
    // Between request and response, the upstream took the time.
    const responded = sentAt === undefined || waitedMs === undefined ? 0 : sentAt + waitedMs;
    const start = end >= responded && before < responded ? responded : before;
    before = end;
    if (didSomething(step) || end > start) writeStep(to, within(ended, step.by, start, end), step);
  }
}

function didSomething({ outcome }: Step): boolean {
  return outcome === "changed" || outcome === "denied" || outcome === "answered";
}

function writeStep(to: ProtoWriter, head: SpanHead, { outcome, reason, decidedBy, failed }: Step): void {
  writeSpan(
    to,
    { ...head, error: failed === true ? reason : undefined },
    { "postern.outcome": outcome, "postern.reason": reason, "postern.decided_by.id": decidedBy?.id },
  );
}

/** Spans of the wait for an upstream, and of the stream to it. */
function writeForwarding(to: ProtoWriter, ended: Ended): void {
  const { exchange, trace, error, durationMs } = ended;
  const { chosenAt, sentAt, tunnel, waitedMs, arrival } = exchange;
  if (chosenAt === undefined) return;
  const endedAt = arrival.monotonic + durationMs;
  const waited = within(ended, "wait for an upstream", chosenAt, sentAt ?? endedAt);
  if (waited.endedAt > waited.startedAt) writeSpan(to, waited, {});
  if (sentAt === undefined || trace.upstreamSpanId === undefined) return;
  const head = within(ended, tunnel === undefined ? "upstream" : "tunnel", sentAt, endedAt);
  const status = exchange.responded?.status;
  const failed = error !== undefined && (status === undefined || status >= 500 || exchange.cutShort);
  const start = beginSpan(to, {
    ...head,
    spanId: trace.upstreamSpanId,
    kind: "client",
    error: failed ? "" : undefined,
  });
  put(to, "http.request.method", methods.has(exchange.method) ? exchange.method : "_OTHER");
  if (status !== undefined) put(to, "http.response.status_code", status);
  if (failed) put(to, "error.type", error);
  if (tunnel !== undefined) {
    put(to, "postern.tunnel.id", tunnel.id);
    put(to, "postern.session.id", tunnel.sessionId);
    put(to, "postern.forwards_to", tunnel.forwardsTo);
  }
  if (waitedMs !== undefined) spanEvent(to, "first byte", head.startedAt + waitedMs);
  endSpan(to, start);
}

function writeAccess(to: ProtoWriter, { exchange, trace, durationMs }: Ended): void {
  const { method, host, status, request, connection, arrival } = exchange;
  const path = pathOf(exchange);
  const last = exchange.steps.at(-1);
  const attributes = {
    "event.name": "postern.access",
    "http.request.method": method,
    "url.scheme": request.scheme,
    "url.path": path,
    "server.address": host,
    "client.address": connection.source,
    "network.protocol.version": request.httpVersion,
    "http.response.status_code": status,
    "http.response.body.size": exchange.bytesOut,
    "postern.request.id": exchange.id,
    "postern.outcome": exchange.cutShort ? "failed" : outcomeOf(last, last?.answer, status),
    "postern.error_code": codeOf(last?.answer),
    "postern.duration_ms": durationMs,
    "postern.route.id": exchange.routeId,
  };
  writeAccessRecord(to, arrival.now + durationMs, `${method} ${host}${path} ${status}`, attributes, trace);
}
