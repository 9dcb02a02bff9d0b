/**
 * Spans of finished requests, and log records for the access log, in the form of OTLP. Loaded only if telemetry is sent.
 * The names of attributes are those of OpenTelemetry's semantic conventions, others begin with `postern.`.
 */
import { codeOf, outcomeOf } from "../../routing/planes/edge-questions.ts";
import { beginPlaced, endSpan, spanAttribute as put, spanError, spanEvent, writeSpan } from "../../telemetry/span.ts";
import type { HandOver } from "../../telemetry/hand-over.ts";
import { writeAccessRecord } from "../../telemetry/log-record.ts";
import type { ProtoWriter } from "../../telemetry/proto-writer.ts";
import { makeSampler } from "../../telemetry/sampler.ts";
import { joinTraceState, parseTraceparent, TracePlace } from "../../telemetry/trace-context.ts";
import type { Sampling } from "../../lib/telemetry-words.ts";
import type { Step } from "../../traffic/step.ts";
import type { TlsFacts } from "../../traffic/connection-facts.ts";
import type { RequestTracing, TracedExchange } from "../http/exchange-trace.ts";
import type { FinishedExchange } from "../http/http-context.ts";
import { pathOf } from "./access/access-values.ts";
import { putRequestId, SteadyParts } from "./steady-parts.ts";

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
  readonly place: TracePlace;
  /** Value of `error.type`. Undefined if neither the edge nor the upstream failed. */
  readonly error: string | undefined;
  readonly durationMs: number;
}

const none: readonly string[] = [];

export function makeTracing({ spans, access, sampling, continues }: TracingOptions): Tracing {
  const isSampled = makeSampler(sampling);
  /** Handshakes that were recorded with the first recorded request of their connection. */
  const recorded = new WeakSet<TlsFacts>();
  const steady = new SteadyParts();
  const begin = ({ request: { headers } }: TracedExchange): TracePlace => {
    const given = continues && headers.has("traceparent") ? headers.getAll("traceparent") : none;
    const parent = given.length === 1 ? parseTraceparent(given[0] as string) : undefined;
    const place = new TracePlace(parent, parent && joinTraceState(headers.getAll("tracestate")));
    place.isSampled = isSampled(place, parent?.isSampled);
    return place;
  };
  return {
    forward(exchange, at) {
      exchange.sentAt = at;
      if (spans === undefined) return undefined;
      const place = (exchange.trace ??= begin(exchange)) as TracePlace;
      const { headers } = exchange.request;
      headers.delete("traceparent");
      if (place.state === undefined) headers.delete("tracestate");
      place.isForwarded = true;
      return place;
    },
    note(exchange) {
      const place = (exchange.trace ??= begin(exchange)) as TracePlace;
      const error = errorOf(exchange);
      const isRecorded = spans !== undefined && (place.isSampled || error !== undefined || isDenied(exchange));
      if (!isRecorded && access === undefined) return;
      const ended = { exchange, place, error, durationMs: exchange.durationMs };
      access?.add((to) => writeAccess(to, ended));
      if (!isRecorded) return;
      const { tls } = exchange.connection;
      const shows = tls?.completedAt !== undefined && !recorded.has(tls) ? tls : undefined;
      if (shows !== undefined) recorded.add(shows);
      spans.add((to) => {
        writeRequest(to, ended, steady);
        if (shows !== undefined) writeHandshake(to, ended, shows);
        writeSteps(to, ended);
        writeForwarding(to, ended, steady);
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

function writeRequest(to: ProtoWriter, { exchange, place, error, durationMs }: Ended, steady: SteadyParts): void {
  const { status, arrival, steps, bytesIn, cutShort } = exchange;
  const start = beginPlaced(to, place, "own", arrival.now, arrival.now + durationMs);
  to.raw(steady.ofRequest(exchange));
  put(to, "url.path", pathOf(exchange));
  const last = steps.at(-1);
  if (error === undefined && last?.answer === undefined && status !== 0) to.raw(steady.ofForwarded(status));
  else {
    if (status !== 0) put(to, "http.response.status_code", status);
    if (error !== undefined) {
      put(to, "error.type", error);
      spanError(to, "");
    }
    put(to, "postern.outcome", cutShort ? "failed" : outcomeOf(last, last?.answer, status));
  }
  if (bytesIn > 0) put(to, "http.request.body.size", bytesIn);
  put(to, "http.response.body.size", exchange.bytesOut);
  putRequestId(to, exchange.requestId);
  endSpan(to, start);
}

/** Times of a span, from monotonic times. */
function spanTimes({ exchange }: Ended, startedAt: number, endedAt: number) {
  const { now, monotonic } = exchange.arrival;
  return { startedAt: now + (startedAt - monotonic), endedAt: now + (endedAt - monotonic) };
}

function writeHandshake(to: ProtoWriter, { exchange, place }: Ended, tls: TlsFacts): void {
  const { startedAt } = exchange.connection;
  const head = { name: "TLS handshake", kind: "internal", startedAt, endedAt: tls.completedAt ?? startedAt } as const;
  writeSpan(to, place, "within", head, {
    "tls.protocol.name": "tls",
    "tls.protocol.version": tls.version.replace(/^TLSv/, ""),
    "tls.cipher": tls.cipher,
    "tls.next_protocol": tls.alpn === "" ? undefined : tls.alpn,
  });
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
    if (hasEffect(step) || end > start) writeStep(to, ended, step, spanTimes(ended, start, end));
  }
}

function hasEffect({ outcome }: Step): boolean {
  return outcome === "changed" || outcome === "denied" || outcome === "answered";
}

function writeStep(to: ProtoWriter, { place }: Ended, step: Step, when: ReturnType<typeof spanTimes>): void {
  const { by: name, outcome, reason, decidedBy, failed } = step;
  const head = { name, kind: "internal", ...when, error: failed === true ? reason : undefined } as const;
  writeSpan(to, place, "within", head, {
    "postern.outcome": outcome,
    "postern.reason": reason,
    "postern.decided_by.id": decidedBy?.id,
  });
}

/** Spans of the wait for an upstream, and of the stream to it. */
function writeForwarding(to: ProtoWriter, ended: Ended, steady: SteadyParts): void {
  const { exchange, place, error, durationMs } = ended;
  const { chosenAt, sentAt, tunnel, waitedMs, arrival, method } = exchange;
  if (chosenAt === undefined) return;
  const endedAt = arrival.monotonic + durationMs;
  const waitEnd = sentAt ?? endedAt;
  if (waitEnd > chosenAt) {
    const head = { name: "wait for an upstream", kind: "internal", ...spanTimes(ended, chosenAt, waitEnd) } as const;
    writeSpan(to, place, "within", head, {});
  }
  if (sentAt === undefined || !place.isForwarded) return;
  const status = exchange.responded?.status;
  const { startedAt, endedAt: overAt } = spanTimes(ended, sentAt, endedAt);
  const start = beginPlaced(to, place, "forwarding", startedAt, overAt);
  to.raw(steady.ofForwarding(tunnel, method, status));
  if (error !== undefined && (status === undefined || status >= 500 || exchange.cutShort)) {
    put(to, "error.type", error);
    spanError(to, "");
  }
  if (waitedMs !== undefined) spanEvent(to, "first byte", startedAt + waitedMs);
  endSpan(to, start);
}

function writeAccess(to: ProtoWriter, { exchange, place, durationMs }: Ended): void {
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
  writeAccessRecord(to, arrival.now + durationMs, `${method} ${host}${path} ${status}`, attributes, place);
}
