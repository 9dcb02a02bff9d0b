/** The operation that returns the history of traffic, summed over the nodes. */
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { describeCode } from "../../lib/errors.ts";
import { otherReasons, otherServices } from "../../lib/tally.ts";
import type { SeriesAnswer } from "../../routing/planes/edge-questions.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { Operation } from "../operation/call.ts";
import { exampleId } from "../operation/example-ids.ts";
import type { SeriesCollector } from "./collector.ts";
import { groupsOf } from "./series-groups.ts";
import type { SeriesGroup } from "./series-groups.ts";
import { valueOf } from "./metric-names.ts";
import { readSeriesQuery } from "./read-query.ts";
import type { SeriesQuery } from "./read-query.ts";
import { seriesSchema } from "./schema.ts";

export interface SeriesParts {
  readonly series: Pick<SeriesCollector, "read">;
  readonly queries: Pick<EdgeQueries, "series">;
  readonly clock: Clock;
}

const path = "/metrics_series";

export function seriesOperation({ series, queries, clock }: SeriesParts): Operation {
  return {
    id: "getMetricsSeries",
    method: "GET",
    path,
    query: ["metric", "since", "until", "step", "group_by", "service_id", "groups"],
    summary:
      "Get the history of your traffic, summed over all nodes: requests, errors, latency, bytes and connections, per minute for 48 hours, per hour for 35 days and per day for a year.",
    takes: "nothing",
    isUnrevised: true,
    status: 200,
    replySchema: "MetricsSeries",
    schemas: { MetricsSeries: seriesSchema },
    exampleReply: {
      uri: exampleBaseUrl + path,
      since: "2026-01-31T12:00:00Z",
      until: "2026-01-31T12:03:00Z",
      step_seconds: 60,
      complete: true,
      groups: [
        {
          service_id: exampleId("https_edge"),
          name: "shop.example.com",
          reason: null,
          reason_text: null,
          series: [
            { metric: "requests", total: 42, values: [12, 0, 30] },
            { metric: "latency_p95", total: 61.2, values: [58.8, null, 63.5] },
          ],
        },
      ],
    },
    async run(call) {
      const query = readSeriesQuery(call, clock.now());
      const { since, until, stepMs, groupBy, serviceId } = query;
      const { accountId } = call.principal;
      const isByService = groupBy === "service";
      const question = { name: "series", accountId, since, until, stepMs, isByService, serviceId } as const;
      const [own, others] = await Promise.all([series.read(question), queries.series(question)]);
      // Several edges of a node answer for the node.
      const byNode = new Map<string, SeriesAnswer>(others.answers.map((one) => [one.nodeId, one]));
      byNode.set(own.nodeId, own);
      const groups = groupsOf([...byNode.values()], groupBy, query.limit).map((group) => renderGroup(group, query));
      const body = {
        uri: call.baseUrl + path,
        since: formatTimestamp(since),
        until: formatTimestamp(until),
        step_seconds: stepMs / 1000,
        complete: others.isComplete,
        groups,
      };
      return { status: 200, body: JSON.stringify(body) };
    },
  };
}

function renderGroup(
  { key, steps, total }: SeriesGroup,
  { metrics, since, until, stepMs, groupBy, serviceId }: SeriesQuery,
): object {
  const times = Array.from({ length: (until - since) / stepMs }, (_, at) => since + at * stepMs);
  const service = groupBy === "service" && key !== otherServices ? key : (serviceId ?? null);
  const reason = groupBy === "reason" && key !== otherReasons ? key : null;
  return {
    service_id: service,
    name: service === null || total.name === "" ? null : total.name,
    reason,
    reason_text: reason === null ? null : (describeCode(reason) ?? null),
    series: metrics.map((metric) => ({
      metric,
      total: valueOf(metric, total),
      values: times.map((at) => valueOf(metric, steps.get(at))),
    })),
  };
}
