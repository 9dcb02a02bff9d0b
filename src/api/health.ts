/** Operations for machines that watch over this one; no key is asked for. */
import { Refusal } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { sumMetrics } from "../lib/metrics-sum.ts";
import { isLocal } from "./http/base-url.ts";
import type { Operation } from "./operation/call.ts";
import type { EdgeQueries } from "./edges/queries.ts";

export interface Readiness {
  /** Why requests should not be sent here yet; undefined when they may. */
  reason(): string | undefined;
}

export function healthOperations(metrics: Metrics, queries: EdgeQueries, readiness: Readiness): Operation[] {
  const shared = { method: "GET", takes: "nothing", open: true, status: 200 } as const;
  const contentType = "text/plain; charset=utf-8";
  return [
    {
      ...shared,
      id: "getHealth",
      path: "/healthz",
      summary: "Whether the process is alive.",
      exampleAnswer: "ok\n",
      run: () => ({ status: 200, body: "ok\n", contentType }),
    },
    {
      ...shared,
      id: "getReadiness",
      path: "/readyz",
      summary: "Whether an edge is connected and has a configuration; 503 with the reason when not.",
      exampleAnswer: "ready\n",
      plainAnswers: { 503: { description: "Why not.", example: "no edge has a configuration yet\n" } },
      run() {
        const reason = readiness.reason();
        return reason === undefined
          ? { status: 200, body: "ready\n", contentType }
          : { status: 503, body: `${reason}\n`, contentType };
      },
    },
    {
      ...shared,
      id: "getMetrics",
      path: "/metrics",
      summary: "Metrics of both planes in Prometheus' text format; only from this machine.",
      exampleAnswer: "# HELP postern_tunnels Online tunnels.\n# TYPE postern_tunnels gauge\npostern_tunnels 2\n",
      refusals: ["metrics_local_only"],
      async run(call) {
        if (!isLocal(call.request)) throw new Refusal("metrics_local_only");
        const body = sumMetrics([metrics.render(), await queries.metrics()]);
        return { status: 200, body, contentType: "text/plain; version=0.0.4; charset=utf-8" };
      },
    },
  ];
}
