/** Turns encoded requests into OTLP's JSON form. Loaded only for endpoints that want it. */
import type { Signal } from "../lib/telemetry-words.ts";
import { fieldsOf } from "./proto-reader.ts";

type FieldKind =
  | "text"
  /** Bytes as hexadecimal digits, as OTLP has them for ids. */
  | "id"
  /** 64 bits, as text in JSON. */
  | "long"
  | "fixed64"
  | "fixed32"
  | "small"
  | "boolean"
  | "double"
  | "doubles"
  | "fixed64s"
  | Message;

interface Message {
  /** By number. A name that ends with `[]` is a list. */
  readonly [field: number]: readonly [name: string, kind: FieldKind];
}

const value: { [field: number]: readonly [string, FieldKind] } = {
  1: ["stringValue", "text"],
  2: ["boolValue", "boolean"],
  3: ["intValue", "long"],
  4: ["doubleValue", "double"],
};
value[5] = ["arrayValue", { 1: ["values[]", value] }];
const attribute: Message = { 1: ["key", "text"], 2: ["value", value] };
const resource: Message = { 1: ["attributes[]", attribute] };
const scope: Message = { 1: ["name", "text"], 2: ["version", "text"] };

const span: Message = {
  1: ["traceId", "id"],
  2: ["spanId", "id"],
  3: ["traceState", "text"],
  4: ["parentSpanId", "id"],
  5: ["name", "text"],
  6: ["kind", "small"],
  7: ["startTimeUnixNano", "fixed64"],
  8: ["endTimeUnixNano", "fixed64"],
  9: ["attributes[]", attribute],
  11: ["events[]", { 1: ["timeUnixNano", "fixed64"], 2: ["name", "text"] }],
  15: ["status", { 2: ["message", "text"], 3: ["code", "small"] }],
  16: ["flags", "fixed32"],
};

const record: Message = {
  1: ["timeUnixNano", "fixed64"],
  2: ["severityNumber", "small"],
  3: ["severityText", "text"],
  5: ["body", value],
  6: ["attributes[]", attribute],
  9: ["traceId", "id"],
  10: ["spanId", "id"],
  11: ["observedTimeUnixNano", "fixed64"],
};

const numberPoint: Message = {
  7: ["attributes[]", attribute],
  2: ["startTimeUnixNano", "fixed64"],
  3: ["timeUnixNano", "fixed64"],
  4: ["asDouble", "double"],
};
const histogramPoint: Message = {
  9: ["attributes[]", attribute],
  2: ["startTimeUnixNano", "fixed64"],
  3: ["timeUnixNano", "fixed64"],
  4: ["count", "fixed64"],
  5: ["sum", "double"],
  6: ["bucketCounts", "fixed64s"],
  7: ["explicitBounds", "doubles"],
};
const metric: Message = {
  1: ["name", "text"],
  2: ["description", "text"],
  5: ["gauge", { 1: ["dataPoints[]", numberPoint] }],
  7: [
    "sum",
    { 1: ["dataPoints[]", numberPoint], 2: ["aggregationTemporality", "small"], 3: ["isMonotonic", "boolean"] },
  ],
  9: ["histogram", { 1: ["dataPoints[]", histogramPoint], 2: ["aggregationTemporality", "small"] }],
};

const requests: Readonly<Record<Signal, Message>> = {
  traces: describeRequest("resourceSpans[]", "scopeSpans[]", "spans[]", span),
  metrics: describeRequest("resourceMetrics[]", "scopeMetrics[]", "metrics[]", metric),
  logs: describeRequest("resourceLogs[]", "scopeLogs[]", "logRecords[]", record),
};

function describeRequest(ofResource: string, ofScope: string, items: string, item: Message): Message {
  return { 1: [ofResource, { 1: ["resource", resource], 2: [ofScope, { 1: ["scope", scope], 2: [items, item] }] }] };
}

/** @param bytes a request as `requestOf` returns it */
export function requestJson(signal: Signal, bytes: Uint8Array): string {
  return JSON.stringify(objectOf(requests[signal], bytes));
}

function objectOf(message: Message, bytes: Uint8Array): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { field, value: number, bytes: content } of fieldsOf(bytes)) {
    const known = message[field];
    if (known === undefined) throw new Error(`render a telemetry message as JSON: field ${field} is unknown`);
    const [name, kind] = known;
    const rendered = renderField(kind, number, content ?? new Uint8Array());
    if (name.endsWith("[]")) ((object[name.slice(0, -2)] ??= []) as unknown[]).push(rendered);
    else object[name] = rendered;
  }
  return object;
}

function renderField(kind: FieldKind, number: number, content: Uint8Array): unknown {
  if (typeof kind !== "string") return objectOf(kind, content);
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const eights = Array.from({ length: bytes.length / 8 }, (_one, at) => 8 * at);
  switch (kind) {
    case "text":
      return bytes.toString();
    case "id":
      return bytes.toString("hex");
    case "long":
      return String(number);
    case "fixed64":
      return String(bytes.readBigUInt64LE());
    case "fixed32":
      return bytes.readUInt32LE();
    case "small":
      return number;
    case "boolean":
      return number !== 0;
    case "double":
      return bytes.readDoubleLE();
    case "doubles":
      return eights.map((at) => bytes.readDoubleLE(at));
    case "fixed64s":
      return eights.map((at) => String(bytes.readBigUInt64LE(at)));
  }
}
