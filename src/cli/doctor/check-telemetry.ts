/** Checks that the OpenTelemetry collector accepts what the server would send. */
import { systemClock } from "../../lib/clock.ts";
import type { TelemetrySettings } from "../../settings/telemetry.ts";
import type { ProbeResult } from "../../telemetry/probe.ts";
import { telemetryPlan } from "../telemetry/telemetry-plan.ts";
import type { Finding } from "./finding.ts";

/** How to fix an answer, by its status. */
const fixes: Readonly<Record<number, string>> = {
  401: "check --otlp-headers",
  403: "check --otlp-headers",
  404: "check the URL. Collectors accept OTLP over HTTP at /v1/traces, /v1/metrics and /v1/logs, usually on port 4318",
  415: "set another --otlp-protocol",
};

/** Without an endpoint there are no findings. */
export async function checkTelemetry(settings: TelemetrySettings): Promise<readonly Finding[]> {
  const plan = telemetryPlan(settings, "", "doctor");
  if (plan === undefined) return [];
  const { probeEndpoint } = await import("../../telemetry/probe.ts");
  return (await probeEndpoint(plan.exporter, systemClock)).map(findingOf);
}

function findingOf({ signal, url, answer }: ProbeResult): Finding {
  const about = `OpenTelemetry ${signal} at ${url.host}`;
  if (answer instanceof Error) {
    const fix = "check --otlp-endpoint and --otlp-ca";
    return { outcome: "wrong", about, message: `cannot reach the collector (${answer.message}): ${fix}` };
  }
  if (answer >= 200 && answer < 300) return { outcome: "fine", about, message: "the collector accepts it" };
  const fix = fixes[answer] ?? "check the log of the collector";
  return { outcome: "wrong", about, message: `the collector answered ${answer}: ${fix}` };
}
