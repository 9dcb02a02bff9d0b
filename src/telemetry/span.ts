/** Spans in the form of OTLP (opentelemetry/proto/trace/v1/trace.proto), written one after another. */
import { writeAttribute, writeAttributes } from "./otlp-attributes.ts";
import type { AttributeValue, Attributes } from "./otlp-attributes.ts";
import { fixed64, lengthDelimited, longMessage, nanoseconds, putFixed64 } from "./proto-writer.ts";
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

/** Bytes of what distinguishes a span from others of the same kind, without a `tracestate`. */
const placeBytes = 2 + traceIdBytes + 2 * (2 + spanIdBytes) + 2 * 9 + 6;

/** Begins a span, to which attributes and events can be written. Pass the result to `endSpan`. */
export function beginSpan(to: ProtoWriter, place: TracePlace, role: SpanRole, head: SpanHead): number {
  const start = beginPlaced(to, place, role, head.startedAt, head.endedAt);
  spanKind(to, head.name, head.kind);
  if (head.error !== undefined) spanError(to, head.error);
  return start;
}

/** Begins a span without a name and a kind, which many spans share. */
export function beginPlaced(
  to: ProtoWriter,
  place: TracePlace,
  role: SpanRole,
  startedAt: number,
  endedAt: number,
): number {
  const { bytes: ids, spanAt, parentId, state } = place;
  const isOwn = role === "own";
  const start = to.begin(spans, longMessage);
  const bytes = to.room(placeBytes);
  let at = putId(bytes, to.length, spanFields.traceId, ids, place.at, traceIdBytes);
  if (isOwn) at = putId(bytes, at, spanFields.spanId, ids, spanAt, spanIdBytes);
  else {
    if (role === "forwarding") at = putId(bytes, at, spanFields.spanId, ids, place.upstreamAt, spanIdBytes);
    else at = putId(bytes, at, spanFields.spanId, newSpanId(), 0, spanIdBytes);
    at = putId(bytes, at, spanFields.parentSpanId, ids, spanAt, spanIdBytes);
  }
  at = putTime(bytes, at, spanFields.start, startedAt);
  at = putTime(bytes, at, spanFields.end, Math.max(startedAt, endedAt));
  to.wrote(at - to.length);
  const isRemote = isOwn && parentId !== undefined;
  to.fixed32(spanFields.flags, (place.isSampled ? sampledFlag : 0) | (isRemote ? remoteParent : localParent));
  if (isRemote) to.hex(spanFields.parentSpanId, parentId);
  if (isOwn && state !== undefined) to.text(spanFields.traceState, state);
  return start;
}

export function spanKind(to: ProtoWriter, name: string, kind: SpanHead["kind"]): void {
  to.text(spanFields.name, name);
  to.number(spanFields.kind, spanKinds[kind]);
}

/** @param message "" if the attributes say why it failed */
export function spanError(to: ProtoWriter, message: string): void {
  const status = to.begin(spanFields.status);
  if (message !== "") to.text(statusFields.message, message.slice(0, 500));
  to.number(statusFields.code, statusError);
  to.end(status);
}

function putId(target: Buffer, at: number, field: number, source: Uint8Array, from: number, length: number): number {
  target[at] = (field << 3) | lengthDelimited;
  target[at + 1] = length;
  for (let index = 0; index < length; index += 1) target[at + 2 + index] = source[from + index] as number;
  return at + 2 + length;
}

function putTime(target: Buffer, at: number, field: number, ms: number): number {
  target[at] = (field << 3) | fixed64;
  putFixed64(target, at + 1, nanoseconds(ms));
  return at + 9;
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
