/**
 * An OpenTelemetry collector for tests. It decodes requests with the published descriptors and a library that is not
 * ours, or as JSON, and rejects what it cannot decode.
 */
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { createFileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import type { DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { startHttpService, startHttpsService } from "./services.ts";
import { readBody } from "./http-client.ts";

const { descriptors } = JSON.parse(readFileSync(new URL("./otlp-descriptors.json", import.meta.url), "utf8")) as {
  readonly descriptors: string;
};
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, gunzipSync(Buffer.from(descriptors, "base64"))),
);

const services = { traces: "trace.v1.ExportTrace", metrics: "metrics.v1.ExportMetrics", logs: "logs.v1.ExportLogs" };
type Signal = keyof typeof services;

function requestType(signal: Signal): DescMessage {
  const found = registry.getMessage(`opentelemetry.proto.collector.${services[signal]}ServiceRequest`);
  if (!found) throw new Error(`no descriptor of ${signal}`);
  return found;
}

export type Value = string | number | boolean | readonly Value[];

export interface ReceivedSpan {
  /** Name of the service that made it. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first span of a trace. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly events: readonly string[];
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, Value>>;
}

export interface ReceivedLog {
  readonly body: Value | undefined;
  readonly severity: string;
  /** "" without a trace. */
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Readonly<Record<string, Value>>;
}

export interface ReceivedPoint {
  readonly name: string;
  readonly kind: "gauge" | "sum" | "histogram";
  readonly attributes: Readonly<Record<string, Value>>;
  /** The count of a histogram. */
  readonly value: number;
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
}

export interface OtlpReceiver {
  readonly url: string;
  /** PEM of the authority of an https receiver; "" for http. */
  readonly ca: string;
  readonly spans: ReceivedSpan[];
  readonly logs: ReceivedLog[];
  readonly points: ReceivedPoint[];
  readonly resources: Readonly<Record<string, Value>>[];
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly bytes: number }[];
  /** Called before a request is accepted. Returns true if it has answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean) | undefined;
  stop(): Promise<void>;
}

export async function startOtlpReceiver(scheme: "http" | "https" = "http"): Promise<OtlpReceiver> {
  const receiver: Omit<OtlpReceiver, "url" | "ca" | "stop"> = {
    spans: [],
    logs: [],
    points: [],
    resources: [],
    requests: [],
    intercept: undefined,
  };
  const listener: RequestListener = (request, response) => {
    void readBody(request).then(
      (sent) => {
        const { url = "", headers } = request;
        receiver.requests.push({ path: url, headers, bytes: sent.length });
        const body = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
        if (receiver.intercept?.(request, response, body) === true) return;
        try {
          keep(receiver, (/^\/v1\/(traces|metrics|logs)$/.exec(url)?.[1] ?? "") as Signal, headers, body);
          response.writeHead(200, { "content-type": headers["content-type"] }).end(isJson(headers) ? "{}" : "");
        } catch (error) {
          response.writeHead(400).end(String(error));
        }
      },
      () => response.destroy(),
    );
  };
  const secure = scheme === "https" ? await startHttpsService(listener) : undefined;
  const service = secure ?? (await startHttpService(listener));
  return Object.assign(receiver, {
    url: `${scheme}://localhost:${service.port}`,
    ca: secure?.authorityPem ?? "",
    stop: () => service.stop(),
  });
}

/** Resolves when `find` has found something, which it tries after every request. */
export async function receivedBy<T>(find: () => T | undefined, timeoutMs = 20_000): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (performance.now() > until) throw new Error("the receiver did not get it in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"] === "application/json";
}

// The messages have the form of their descriptors, which the library has checked.
// oxlint-disable-next-line typescript/no-explicit-any
type Message = any;

function keep(
  to: Pick<OtlpReceiver, "spans" | "logs" | "points" | "resources">,
  signal: Signal,
  headers: IncomingHttpHeaders,
  body: Buffer,
): void {
  const type = requestType(signal);
  // In OTLP's JSON, ids are hexadecimal, and not base64 as elsewhere.
  const text = isJson(headers)
    ? body
        .toString()
        .replaceAll(
          /"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"/g,
          (_all, name, digits: string) => `"${String(name)}":"${Buffer.from(digits, "hex").toString("base64")}"`,
        )
    : undefined;
  const message = text === undefined ? fromBinary(type, body) : fromJson(type, JSON.parse(text));
  const read = toJson(type, message, { registry }) as Message;
  for (const one of read.resourceSpans ?? read.resourceMetrics ?? read.resourceLogs ?? []) {
    const resource = attributesOf(one.resource.attributes);
    to.resources.push(resource);
    for (const scoped of one.scopeSpans ?? []) {
      for (const span of scoped.spans) to.spans.push(spanOf(span, String(resource["service.name"])));
    }
    for (const scoped of one.scopeLogs ?? []) for (const record of scoped.logRecords) to.logs.push(logOf(record));
    for (const scoped of one.scopeMetrics ?? [])
      for (const metric of scoped.metrics) to.points.push(...pointsOf(metric));
  }
}

function spanOf(span: Message, service: string): ReceivedSpan {
  return {
    service,
    traceId: idOf(span.traceId),
    spanId: idOf(span.spanId),
    parentSpanId: idOf(span.parentSpanId),
    traceState: span.traceState ?? "",
    name: span.name,
    kind: { SPAN_KIND_INTERNAL: 1, SPAN_KIND_SERVER: 2, SPAN_KIND_CLIENT: 3 }[span.kind as string] ?? 0,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    events: (span.events ?? []).map(({ name }: Message) => name),
    isError: span.status?.code === "STATUS_CODE_ERROR",
    attributes: attributesOf(span.attributes),
  };
}

function logOf(record: Message): ReceivedLog {
  return {
    body: valueOf(record.body),
    severity: record.severityText,
    traceId: idOf(record.traceId),
    spanId: idOf(record.spanId),
    attributes: attributesOf(record.attributes),
  };
}

function pointsOf(metric: Message): ReceivedPoint[] {
  const kind = (["gauge", "sum", "histogram"] as const).find((one) => metric[one] !== undefined);
  if (kind === undefined) throw new Error(`the metric ${metric.name} has no data`);
  return (metric[kind].dataPoints ?? []).map((point: Message) => ({
    name: metric.name,
    kind,
    attributes: attributesOf(point.attributes),
    value: Number(point.asDouble ?? point.count ?? 0),
    bucketCounts: (point.bucketCounts ?? []).map(Number),
    bounds: point.explicitBounds ?? [],
  }));
}

function attributesOf(list: readonly Message[] = []): Record<string, Value> {
  return Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Message): Value {
  if (value?.arrayValue !== undefined) return value.arrayValue.values.map(valueOf);
  if (value?.intValue !== undefined) return Number(value.intValue);
  return value?.stringValue ?? value?.boolValue ?? value?.doubleValue;
}

function idOf(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("hex");
}
