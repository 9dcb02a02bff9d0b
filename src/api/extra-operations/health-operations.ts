/** Operations for monitoring. They need no API key. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { normaliseAddress } from "../../lib/address.ts";
import type { Networks } from "../../lib/networks.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { openMetricsType, toOpenMetrics, wantsOpenMetrics } from "../../lib/open-metrics.ts";
import { sumMetrics } from "../../lib/metrics-sum.ts";
import { isLocal } from "../http/base-url.ts";
import type { Operation } from "../operation/call.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { Readiness } from "../edges/readiness.ts";
import { readOnce } from "../objects/page-query.ts";

export interface HealthInput {
  readonly metrics: Metrics;
  readonly queries: EdgeQueries;
  readonly readiness: Readiness;
  /** Other machines that may read the metrics. */
  readonly metricsFrom: Networks | undefined;
}

export function healthOperations({ metrics, queries, readiness, metricsFrom }: HealthInput): Operation[] {
  const shared = { method: "GET", takes: "nothing", open: true, status: 200 } as const;
  const contentType = "text/plain; charset=utf-8";
  return [
    {
      ...shared,
      id: "getHealth",
      path: "/healthz",
      summary: "Whether the process is alive.",
      exampleReply: "ok\n",
      run: () => ({ status: 200, body: "ok\n", contentType }),
    },
    {
      ...shared,
      id: "getReadiness",
      path: "/readyz",
      query: ["of"],
      summary:
        "Whether this server accepts traffic: 200 if an edge is connected, has a configuration and is not draining, else 503 with the reason. Traffic does not need writes: a second line reports a database that rejects them. `?of=writes` checks writes instead, and `?of=all` checks both.",
      exampleReply: "ready\n",
      plainReplies: { 503: { description: "Why not.", example: "no edge has a configuration yet\n" } },
      refusals: ["query_invalid"],
      run(call) {
        const of = readOnce(call, "of") ?? "traffic";
        if (of !== "traffic" && of !== "writes" && of !== "all") {
          throw new Refusal("query_invalid", `${call.operation.id}: "of" must be "traffic", "writes" or "all"`);
        }
        readiness.noteCheck();
        const reason = readiness[of]();
        const cutOff = readiness.cutOff();
        const writes = readiness.writes();
        const lines = [reason ?? "ready", writes !== cutOff && writes, cutOff !== undefined && `node: ${cutOff}`];
        const body = [...new Set(lines.filter((line) => typeof line === "string"))].map((line) => `${line}\n`).join("");
        return { status: reason === undefined ? 200 : 503, body, contentType };
      },
    },
    {
      ...shared,
      id: "getMetrics",
      path: "/metrics",
      summary:
        "Metrics of both planes in Prometheus' text format, or in OpenMetrics with trace ids for clients that accept it; only for this machine and the networks of `--metrics-from`.",
      exampleReply: "# HELP postern_tunnels Online tunnels.\n# TYPE postern_tunnels gauge\npostern_tunnels 2\n",
      refusals: ["metrics_local_only"],
      async run(call) {
        if (!isLocal(call.request) && !isFrom(metricsFrom, call.request)) throw new Refusal("metrics_local_only");
        const isOpen = wantsOpenMetrics(call.request.headers.accept);
        const text = sumMetrics([metrics.render(isOpen), await queries.metrics(isOpen)]);
        return isOpen
          ? { status: 200, body: toOpenMetrics(text), contentType: openMetricsType }
          : { status: 200, body: text, contentType: "text/plain; version=0.0.4; charset=utf-8" };
      },
    },
  ];
}

/** A forwarded request has the address of its proxy, which does not count. */
function isFrom(networks: Networks | undefined, { socket, headers }: IncomingMessage): boolean {
  if (networks === undefined || headers["x-forwarded-for"] !== undefined) return false;
  const address = normaliseAddress(socket.remoteAddress ?? "");
  return address !== undefined && networks(address);
}
