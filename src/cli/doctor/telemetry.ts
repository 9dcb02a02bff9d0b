/** Checks that the OpenTelemetry collector accepts what the server would send. */
import { systemClock } from "../../lib/clock.ts";
import type { Signal } from "../../lib/telemetry-words.ts";
import { openOutbound } from "../../outbound/client.ts";
import type { TelemetrySettings } from "../../settings/telemetry.ts";
import { telemetryPlan } from "../telemetry/plan.ts";
import type { ExporterPlan } from "../telemetry/plan.ts";
import type { Finding } from "./finding.ts";

/** Sends a request without items for each signal. Without an endpoint there are no findings. */
export async function checkTelemetry(settings: TelemetrySettings): Promise<readonly Finding[]> {
  const plan = telemetryPlan(settings, "", "doctor");
  if (plan === undefined) return [];
  const { urls, timeoutMs, ca } = plan.exporter;
  const outbound = openOutbound({ purpose: "telemetry", clock: systemClock, reach: "any", ca, timeoutMs });
  try {
    return await Promise.all(
      Object.entries(urls).map(([signal, url]) =>
        checkOne(signal as Signal, url, plan.exporter, (headers, body) =>
          outbound.send({ method: "POST", url: new URL(url), headers, body }),
        ),
      ),
    );
  } finally {
    outbound.close();
  }
}

async function checkOne(
  signal: Signal,
  url: string,
  { headers, protocol }: ExporterPlan,
  send: (headers: Readonly<Record<string, string>>, body: string) => Promise<{ readonly status: number }>,
): Promise<Finding> {
  const about = `OpenTelemetry ${signal} at ${new URL(url).host}`;
  const isJson = protocol === "http/json";
  const type = isJson ? "application/json" : "application/x-protobuf";
  try {
    const { status } = await send({ ...headers, "content-type": type }, isJson ? "{}" : "");
    if (status >= 200 && status < 300) return { outcome: "fine", about, message: "the collector accepts it" };
    const fix =
      status === 401 || status === 403
        ? "check --otlp-headers"
        : status === 404
          ? "check the URL: collectors accept OTLP over HTTP at /v1/traces, /v1/metrics and /v1/logs, usually on port 4318"
          : status === 415
            ? "set another --otlp-protocol"
            : "check the log of the collector";
    return { outcome: "wrong", about, message: `the collector answered ${status}: ${fix}` };
  } catch (error) {
    const why = (error as Error).message;
    return {
      outcome: "wrong",
      about,
      message: `cannot reach the collector (${why}): check --otlp-endpoint and --otlp-ca`,
    };
  }
}
