/**
 * Telemetry over OTLP. The variables are those that OpenTelemetry specifies. Read when a server or an agent starts; the
 * telemetry thread gets the result.
 */
import { exportCompressions, exportedParts, exportProtocols, samplerNames } from "../lib/telemetry-words.ts";
import { certificates } from "./kinds/file.ts";
import { countKind } from "./kinds/number.ts";
import { exportHeaders, ratio, resourceAttributes } from "./kinds/telemetry.ts";
import { namedText, oneOf } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

/** For servers and agents. */
export const exportSettings = {
  otlpEndpoint: optional(
    "Base URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as `http://localhost:4318`. Without an endpoint, nothing is sent.",
    httpUrl,
    { variable: "OTEL_EXPORTER_OTLP_ENDPOINT" },
  ),
  otlpTracesEndpoint: optional("Complete URL for traces, instead of the base URL with /v1/traces.", httpUrl, {
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  }),
  otlpHeaders: optional(
    "Header fields for the OpenTelemetry collector, such as authorization=Bearer%20TOKEN.",
    exportHeaders,
    { variable: "OTEL_EXPORTER_OTLP_HEADERS", secret: true },
  ),
  otlpProtocol: one("Encoding of telemetry.", oneOf(exportProtocols), {
    variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
    default: "http/protobuf",
  }),
  otlpCompression: one(
    "Compression of telemetry. gzip makes traces about five times smaller, for collectors behind a slow or metered connection.",
    oneOf(exportCompressions),
    { variable: "OTEL_EXPORTER_OTLP_COMPRESSION", default: "none" },
  ),
  otlpTimeout: one(
    "Maximum time for a request to the OpenTelemetry collector.",
    countKind("MILLISECONDS", 1, 600_000),
    {
      variable: "OTEL_EXPORTER_OTLP_TIMEOUT",
      default: 10_000,
    },
  ),
  otlpCa: optional(
    "PEM file with the authorities of the OpenTelemetry collector (default: the system's).",
    certificates,
    { variable: "OTEL_EXPORTER_OTLP_CERTIFICATE" },
  ),
  otlpServiceName: optional("Name of this service in telemetry.", namedText("NAME"), {
    variable: "OTEL_SERVICE_NAME",
    shownDefault: "postern for a server, postern-agent for an agent",
  }),
  otlpResourceAttributes: optional(
    "Additional attributes of this service in telemetry, such as deployment.environment.name=staging.",
    resourceAttributes,
    { variable: "OTEL_RESOURCE_ATTRIBUTES" },
  ),
} as const;

/** For servers. */
export const telemetrySettings = {
  ...exportSettings,
  otlpMetricsEndpoint: optional("Complete URL for metrics, instead of the base URL with /v1/metrics.", httpUrl, {
    variable: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  }),
  otlpLogsEndpoint: optional("Complete URL for logs, instead of the base URL with /v1/logs.", httpUrl, {
    variable: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
  }),
  otlpExport: many(
    "Part of the telemetry to send; repeatable (default: traces, metrics, logs). access_log adds a log record for each finished request.",
    oneOf(exportedParts),
  ),
  otlpSampler: one(
    "Which traces are recorded. Samplers that begin with parentbased_ take the decision of the client if it sends one. Denied and failed requests are always recorded.",
    oneOf(samplerNames),
    { variable: "OTEL_TRACES_SAMPLER", default: "parentbased_always_on" },
  ),
  otlpSamplerArg: one("Share of traces that a traceidratio sampler records.", ratio, {
    variable: "OTEL_TRACES_SAMPLER_ARG",
    default: "1",
  }),
  otlpMetricInterval: one("Time between two exports of the metrics.", countKind("MILLISECONDS", 1_000, 3_600_000), {
    variable: "OTEL_METRIC_EXPORT_INTERVAL",
    default: 60_000,
  }),
  traceContext: one(
    "Whether a trace continues the client's traceparent and tracestate, or always begins at this server. With begin, no client can make the server record its requests.",
    oneOf(["continue", "begin"]),
    { default: "continue" },
  ),
} as const;

export type ExportSettings = ValuesOf<typeof exportSettings>;
export type TelemetrySettings = ValuesOf<typeof telemetrySettings>;
