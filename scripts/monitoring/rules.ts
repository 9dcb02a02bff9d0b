/** Alerting rules for Prometheus. */
import type { Metric } from "../reference/metrics.ts";
import { queriesOf } from "./query.ts";

interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long the expression must hold. */
  readonly for: string;
  readonly severity: "critical" | "warning";
  readonly summary: string;
  /** What to do. */
  readonly description: string;
}

function alertsOf(catalogue: ReadonlyMap<string, Metric>): readonly Alert[] {
  const { now, rate, series } = queriesOf(catalogue, "");
  const requests = rate("http_requests_total");
  const failed = rate("http_requests_total", { matching: 'status="5xx"' });
  return [
    {
      alert: "PosternDown",
      expr: 'up{job="postern"} == 0',
      for: "2m",
      severity: "critical",
      summary: "Prometheus cannot read the metrics of {{ $labels.instance }}.",
      description: "Check that the server runs, and that --metrics-from lists the network of Prometheus.",
    },
    {
      alert: "PosternNotReady",
      expr: `${series("ready")} == 0`,
      for: "2m",
      severity: "critical",
      summary: "{{ $labels.instance }} accepts no traffic.",
      description: "Read the reason at /readyz of the API.",
    },
    {
      alert: "PosternWritesFail",
      expr: `${series("writes_ready")} == 0`,
      for: "2m",
      severity: "critical",
      summary: "{{ $labels.instance }} stores no writes.",
      description: "Check the database and the disk. /readyz?of=writes has the reason.",
    },
    {
      alert: "PosternRequestsFail",
      expr: `${failed} / ${requests} > 0.05 and ${requests} > 0.1`,
      for: "10m",
      severity: "warning",
      summary: "More than 5 % of requests get a 5xx status.",
      description: "List failed requests in the console.",
    },
    {
      alert: "PosternCodeFails",
      expr: `sum by (unit) (increase(${series("failed_units_total")}[15m])) > 0`,
      for: "0m",
      severity: "warning",
      summary: "The server's own code failed in a unit of work ({{ $labels.unit }}).",
      description: "This is a defect. Report it with the stack in the server's log.",
    },
    {
      alert: "PosternConfigurationProblems",
      expr: `${series("configuration_problems")} > 0`,
      for: "10m",
      severity: "warning",
      summary: "{{ $value }} modules cannot be compiled.",
      description: "GET /problems of the API lists the modules. Their routes reject requests.",
    },
    {
      alert: "PosternEdgesBehind",
      expr: `${series("revision")} - ${series("revision_applied")} > 0`,
      for: "5m",
      severity: "warning",
      summary: "An edge of {{ $labels.instance }} has not applied the latest changes.",
      description: "Check the server's log for edges that restart.",
    },
    {
      alert: "PosternEventsLost",
      expr: `${rate("events_dropped_total")} > 0`,
      for: "5m",
      severity: "warning",
      summary: "The server discards events.",
      description: "Check the destinations of events: they are too slow or reject events.",
    },
    {
      alert: "PosternAccessLogLost",
      expr: `${rate("access_log_dropped_total")} > 0`,
      for: "5m",
      severity: "warning",
      summary: "Access log lines are lost.",
      description: "Check the disk of the access log. The server's log has the error.",
    },
    {
      alert: "PosternHeldBodies",
      expr: `${now("http_held_bytes")} > 200000000`,
      for: "5m",
      severity: "warning",
      summary: "Edges hold more than 200 MB of bodies.",
      description: "Services or clients read slowly. At 256 MiB for each server, requests get 503.",
    },
  ];
}

/** The rule groups, as Prometheus reads them. */
export function rulesOf(catalogue: ReadonlyMap<string, Metric>): object {
  const rules = alertsOf(catalogue).map(({ severity, summary, description, ...alert }) => ({
    ...alert,
    labels: { severity },
    annotations: { summary, description },
  }));
  return { groups: [{ name: "postern", rules }] };
}
