/** Connects an edge and the telemetry. Loaded only if telemetry is sent. */
import { makeTracing } from "../../../edge/watch/tracing.ts";
import type { Tracing } from "../../../edge/watch/tracing.ts";
import type { Metrics } from "../../../lib/metrics.ts";
import { exportHandOverCounts } from "../../../telemetry/hand-over.ts";
import type { TelemetryEnd } from "./telemetry-end.ts";

/** Undefined if neither traces nor the access log are sent. */
export function openEdgeTracing({ spans, access, share }: TelemetryEnd, metrics: Metrics): Tracing | undefined {
  exportHandOverCounts(metrics);
  return spans || access ? makeTracing({ ...share, spans, access }) : undefined;
}
