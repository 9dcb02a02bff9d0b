/** Spans of an agent. Loaded only if an endpoint is set. */
import { combineWatches } from "../../agent/stream-watch.ts";
import { TraceWatch } from "../../agent/trace-watch.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Exporter } from "../../telemetry/exporter.ts";
import { makeHandOver } from "../../telemetry/hand-over.ts";
import { makeSpanRecorder } from "../../telemetry/recorder.ts";
import type { ExporterPlan } from "../telemetry/telemetry-plan.ts";

/** Maximum time for the last requests, milliseconds. */
const stopMs = 2_000;

export interface AgentTracing {
  /** Returns the tunnel's options with a watch for spans. */
  watch(tunnel: TunnelOptions): TunnelOptions;
  stop(): Promise<void>;
}

export function openAgentTracing(plan: ExporterPlan, log: Log): AgentTracing {
  const exporter = new Exporter({ ...plan, clock: systemClock, log, random: Math.random });
  const spans = makeHandOver({ signal: "traces", line: exporter, clock: systemClock });
  // The server decides which traces are recorded.
  const recorder = makeSpanRecorder(spans, { sampler: "parentbased_always_off", ratio: 0 });
  return {
    watch(tunnel) {
      const { name, upstream, opened, proxyProtocol = 0 } = tunnel;
      if (upstream.http2) return tunnel;
      const options = { recorder, clock: systemClock, tunnel: name, service: upstream.text };
      return {
        ...tunnel,
        opened(clientAddress, isHttp) {
          const own = new TraceWatch({ ...options, hasPreamble: proxyProtocol !== 0 });
          const other = opened?.(clientAddress, isHttp);
          return other === undefined ? own : combineWatches(other, own);
        },
      };
    },
    async stop() {
      spans.flush();
      await exporter.stop(stopMs, systemClock);
    },
  };
}
