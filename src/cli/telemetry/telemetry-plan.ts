/** What is sent where, from the settings. */
import { hostname } from "node:os";
import { signals } from "../../lib/telemetry-words.ts";
import type { ExportedPart, Signal } from "../../lib/telemetry-words.ts";
import type { ExportSettings, TelemetrySettings } from "../../settings/telemetry.ts";
import type { ExporterOptions } from "../../telemetry/exporter.ts";
import type { TelemetryShare } from "../platform/threads/telemetry-end.ts";

export interface TelemetryPlan {
  readonly share: TelemetryShare;
  readonly exporter: ExporterPlan;
}

export type ExporterPlan = Omit<ExporterOptions, "clock" | "log" | "random">;

const usualParts: readonly ExportedPart[] = signals;

/** Returns undefined if nothing is sent. @param instance distinguishes servers that send to one collector */
export function telemetryPlan(
  settings: TelemetrySettings,
  version: string,
  instance: string,
): TelemetryPlan | undefined {
  const wanted = settings.otlpExport.length > 0 ? settings.otlpExport : usualParts;
  const urls = urlsOf(settings.otlpEndpoint, {
    traces: settings.otlpTracesEndpoint,
    metrics: settings.otlpMetricsEndpoint,
    logs: settings.otlpLogsEndpoint,
  });
  const parts = wanted.filter((part) => urls[part === "access_log" ? "logs" : part] !== undefined);
  if (parts.length === 0) return undefined;
  return {
    share: {
      parts,
      sampling: { sampler: settings.otlpSampler, ratio: settings.otlpSamplerArg },
      continues: settings.traceContext === "continue",
      metricIntervalMs: settings.otlpMetricInterval,
    },
    exporter: exporterPlan(settings, urls, "postern", version, instance),
  };
}

/** Returns undefined if the agent sends nothing. */
export function agentTelemetryPlan(settings: ExportSettings, version: string): ExporterPlan | undefined {
  const { traces } = urlsOf(settings.otlpEndpoint, { traces: settings.otlpTracesEndpoint });
  return traces === undefined
    ? undefined
    : exporterPlan(settings, { traces }, "postern-agent", version, `${hostname()}:${process.pid}`);
}

function exporterPlan(
  settings: ExportSettings,
  urls: ExporterPlan["urls"],
  name: string,
  version: string,
  instance: string,
): ExporterPlan {
  return {
    urls,
    headers: settings.otlpHeaders ?? {},
    protocol: settings.otlpProtocol,
    compression: settings.otlpCompression,
    timeoutMs: settings.otlpTimeout,
    ca: settings.otlpCa,
    maker: {
      version,
      resource: {
        "service.instance.id": instance,
        "service.version": version,
        "host.name": hostname(),
        ...settings.otlpResourceAttributes,
        "service.name": settings.otlpServiceName ?? settings.otlpResourceAttributes?.["service.name"] ?? name,
      },
    },
  };
}

/** The base URL and a path for each signal, unless the signal has a URL. */
function urlsOf(
  base: string | undefined,
  ownUrls: Readonly<Partial<Record<Signal, string | undefined>>>,
): Readonly<Partial<Record<Signal, string>>> {
  const urls: Partial<Record<Signal, string>> = {};
  for (const signal of signals) {
    const url = ownUrls[signal] ?? (base === undefined ? undefined : `${base}/v1/${signal}`);
    if (url !== undefined) urls[signal] = url;
  }
  return urls;
}
