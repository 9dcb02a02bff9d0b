/** Log records in the form of OTLP (opentelemetry/proto/logs/v1/logs.proto), written one after another. */
import type { LogLine } from "../lib/log.ts";
import { writeAttribute, writeAttributes, writeValue } from "./otlp-attributes.ts";
import type { AttributeValue, Attributes } from "./otlp-attributes.ts";
import { longMessage } from "./proto-writer.ts";
import type { ProtoWriter } from "./proto-writer.ts";

const logRecords = 2;
const recordFields = {
  time: 1,
  severityNumber: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  traceId: 9,
  spanId: 10,
  observedTime: 11,
} as const;
const severities = { debug: 5, info: 9, warn: 13, error: 17 } as const;

/** The trace and the span to which a record belongs. */
export interface RecordPlace {
  readonly traceId: string;
  readonly spanId: string;
}

/** A line of the server log. Its field `trace`, if any, is the id of a trace. */
export function writeLogLine(to: ProtoWriter, { now, level, event, fields }: LogLine): void {
  const start = beginRecord(to, now, level, event);
  for (const name in fields) {
    const value = fields[name];
    if (name === "trace" && typeof value === "string") to.hex(recordFields.traceId, value);
    else if (value !== undefined) writeAttribute(to, recordFields.attributes, name, plainValue(value));
  }
  to.end(start, longMessage);
}

/** A line of the access log. @param now milliseconds since 1970 */
export function writeAccessRecord(
  to: ProtoWriter,
  now: number,
  text: string,
  attributes: Attributes,
  place: RecordPlace,
): void {
  const start = beginRecord(to, now, "info", text);
  writeAttributes(to, recordFields.attributes, attributes);
  to.hex(recordFields.traceId, place.traceId);
  to.hex(recordFields.spanId, place.spanId);
  to.end(start, longMessage);
}

function beginRecord(to: ProtoWriter, now: number, level: keyof typeof severities, body: string): number {
  const start = to.begin(logRecords, longMessage);
  to.time(recordFields.time, now);
  to.time(recordFields.observedTime, now);
  to.number(recordFields.severityNumber, severities[level]);
  to.text(recordFields.severityText, level.toUpperCase());
  const value = to.begin(recordFields.body);
  writeValue(to, body);
  to.end(value);
  return start;
}

function plainValue(value: unknown): AttributeValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (value instanceof Error) return value.message;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  return JSON.stringify(value) ?? "";
}
