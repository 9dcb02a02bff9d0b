/** Spans in the form of OTLP (opentelemetry/proto/trace/v1/trace.proto), written one after another. */
import { writeAttribute, writeAttributes } from "./attributes.ts";
import type { Attributes } from "./attributes.ts";
import { longMessage } from "./proto-writer.ts";
import type { ProtoWriter } from "./proto-writer.ts";

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
  /** 32 and 16 lower-case hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined;
  /** Whether the parent is in another process. */
  readonly isRemote?: boolean;
  /** Whether the spans of other processes in the trace are recorded, too. */
  readonly isSampled: boolean;
  readonly traceState?: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed. "" if the status says it. Undefined if it did not fail. */
  readonly error: string | undefined;
}

/** Begins a span, to which attributes and events can be written. Pass the result to `endSpan`. */
export function beginSpan(to: ProtoWriter, head: SpanHead): number {
  const start = to.begin(spans, longMessage);
  to.hex(spanFields.traceId, head.traceId);
  to.hex(spanFields.spanId, head.spanId);
  if (head.traceState !== undefined) to.text(spanFields.traceState, head.traceState);
  if (head.parentId !== undefined) to.hex(spanFields.parentSpanId, head.parentId);
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
  to.fixed32(spanFields.flags, (head.isSampled ? sampledFlag : 0) | (head.isRemote === true ? remoteParent : localParent));
  return start;
}

export function spanAttribute(to: ProtoWriter, name: string, value: string | number | boolean): void {
  writeAttribute(to, spanFields.attributes, name, value);
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

export function writeSpan(to: ProtoWriter, head: SpanHead, attributes: Attributes): void {
  const start = beginSpan(to, head);
  writeAttributes(to, spanFields.attributes, attributes);
  endSpan(to, start);
}
