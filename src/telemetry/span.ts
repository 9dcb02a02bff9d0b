/** Spans in the form of OTLP (opentelemetry/proto/trace/v1/trace.proto), written one after another. */
import { writeAttribute, writeAttributes } from "./attributes.ts";
import type { AttributeValue, Attributes } from "./attributes.ts";
import { longMessage } from "./proto-writer.ts";
import type { ProtoWriter } from "./proto-writer.ts";
import { newSpanId, spanIdBytes, traceIdBytes } from "./trace-context.ts";
import type { TracePlace } from "./trace-context.ts";

const spans = 2;
const spanFields = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  events: 11,
  status: 15,
  flags: 16,
} as const;
const eventFields = { time: 1, name: 2 } as const;
const statusFields = { message: 2, code: 3 } as const;
const statusError = 2;
/** The parent is known, and it is, or is not, in another process (bits 8 and 9). */
const [localParent, remoteParent] = [0x100, 0x300] as const;
const sampledFlag = 1;

export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

export interface SpanHead {
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed. "" if the attributes say it. Undefined if it did not fail. */
  readonly error?: string | undefined;
}

/**
 * Which span of a place it is: the place's own, which has the client's as its parent; that of the forwarding; or another
 * one within the place's own.
 */
export type SpanRole = "own" | "forwarding" | "within";

/** Begins a span, to which attributes and events can be written. Pass the result to `endSpan`. */
export function beginSpan(to: ProtoWriter, place: TracePlace, role: SpanRole, head: SpanHead): number {
  const { bytes, isSampled } = place;
  const start = to.begin(spans, longMessage);
  to.bytes(spanFields.traceId, bytes, place.at, traceIdBytes);
  if (role === "own") {
    to.bytes(spanFields.spanId, bytes, place.spanAt, spanIdBytes);
    if (place.state !== undefined) to.text(spanFields.traceState, place.state);
    if (place.parentId !== undefined) to.hex(spanFields.parentSpanId, place.parentId);
  } else {
    if (role === "forwarding") to.bytes(spanFields.spanId, bytes, place.upstreamAt, spanIdBytes);
    else to.hex(spanFields.spanId, newSpanId());
    to.bytes(spanFields.parentSpanId, bytes, place.spanAt, spanIdBytes);
  }
  to.text(spanFields.name, head.name);
  to.number(spanFields.kind, spanKinds[head.kind]);
  to.time(spanFields.start, head.startedAt);
  to.time(spanFields.end, Math.max(head.startedAt, head.endedAt));
  if (head.error !== undefined) {
    const status = to.begin(spanFields.status);
    if (head.error !== "") to.text(statusFields.message, head.error.slice(0, 500));
    to.number(statusFields.code, statusError);
    to.end(status);
  }
  const isRemote = role === "own" && place.parentId !== undefined;
  to.fixed32(spanFields.flags, (isSampled ? sampledFlag : 0) | (isRemote ? remoteParent : localParent));
  return start;
}

export function spanAttribute(to: ProtoWriter, name: string, value: AttributeValue): void {
  writeAttribute(to, spanFields.attributes, name, value);
}

export function spanAttributes(to: ProtoWriter, attributes: Attributes): void {
  writeAttributes(to, spanFields.attributes, attributes);
}

/** @param at milliseconds since 1970 */
export function spanEvent(to: ProtoWriter, name: string, at: number): void {
  const start = to.begin(spanFields.events);
  to.time(eventFields.time, at);
  to.text(eventFields.name, name);
  to.end(start);
}

export function endSpan(to: ProtoWriter, start: number): void {
  to.end(start, longMessage);
}

export function writeSpan(
  to: ProtoWriter,
  place: TracePlace,
  role: SpanRole,
  head: SpanHead,
  attributes: Attributes,
): void {
  const start = beginSpan(to, place, role, head);
  spanAttributes(to, attributes);
  endSpan(to, start);
}
