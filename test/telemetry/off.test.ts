/** Without an endpoint, nothing of the telemetry is loaded. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { globSync } from "node:fs";
import { importsOf } from "../../scripts/imports.ts";
import { telemetryPlan } from "../../src/cli/telemetry/telemetry-plan.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { telemetrySettings } from "../../src/settings/telemetry.ts";

/** Files that load others only by `import()`, or are entries of threads and commands. */
const entries = ["src/main.ts", ...globSync("src/cli/platform/threads/*.ts"), ...globSync("src/cli/commands/*.ts")];
const ofTelemetry =
  /^src\/(?:telemetry\/|edge\/watch\/tracing|cli\/platform\/threads\/(?:edge-tracing|telemetry)|cli\/platform\/telemetry-service|cli\/agent\/agent-tracing|agent\/trace-watch)/;

describe("telemetry that is off", () => {
  it("telemetry that is off is not loaded: no start of a server or agent imports it", () => {
    const seen = new Set(entries.filter((file) => !file.includes(".test.") && !ofTelemetry.test(file)));
    for (const file of seen) {
      for (const one of importsOf(file)) if (!one.typeOnly && !one.isLate) seen.add(one.target);
    }
    assert.ok(seen.size > 500, String(seen.size));
    assert.deepEqual(
      [...seen].filter((file) => ofTelemetry.test(file)),
      [],
    );
  });

  it("telemetry that is off has no plan, and none for parts without a URL", () => {
    const off = defaultsOf(telemetrySettings);
    assert.equal(telemetryPlan(off, "1", "here"), undefined);
    const metricsOnly = { ...off, otlpMetricsEndpoint: "http://localhost:4318/m", otlpExport: ["traces"] as const };
    assert.equal(telemetryPlan(metricsOnly, "1", "here"), undefined);
    const plan = telemetryPlan({ ...off, otlpMetricsEndpoint: "http://localhost:4318/m" }, "1", "here");
    assert.deepEqual(plan?.share.parts, ["metrics"]);
    assert.deepEqual(plan?.exporter.urls, { metrics: "http://localhost:4318/m" });
  });
});
