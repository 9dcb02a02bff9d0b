/** The Grafana dashboard. */
import type { Metric } from "../reference/metrics.ts";
import { queriesOf } from "./query.ts";
import type { Queries } from "./query.ts";

interface Panel {
  readonly title: string;
  /** Of Grafana, such as `reqps`. */
  readonly unit: string;
  /** PromQL by legend. */
  readonly targets: Readonly<Record<string, string>>;
}

const height = 8;
const width = 12;

const source = { type: "prometheus", uid: "${datasource}" };

function panelsOf({ now, rate }: Queries): readonly Panel[] {
  return [
    {
      title: "Requests by status",
      unit: "reqps",
      targets: { "{{status}}": rate("http_requests_total", { by: "status" }) },
    },
    {
      title: "Share of failed requests (5xx)",
      unit: "percentunit",
      targets: {
        failed: `${rate("http_requests_total", { matching: 'status="5xx"' })} / ${rate("http_requests_total")}`,
      },
    },
    {
      title: "Open requests and connections",
      unit: "short",
      targets: {
        requests: now("http_exchanges"),
        "public connections": now("http_connections"),
        "TCP and TLS connections": now("spliced_connections"),
      },
    },
    {
      title: "Bandwidth",
      unit: "Bps",
      targets: {
        received: `${rate("http_received_bytes_total")} + ${rate("spliced_received_bytes_total")}`,
        sent: `${rate("http_sent_bytes_total")} + ${rate("spliced_sent_bytes_total")}`,
      },
    },
    {
      title: "Agents and tunnels",
      unit: "short",
      targets: { agents: now("tunnel_sessions"), tunnels: now("tunnels") },
    },
    { title: "TLS handshakes", unit: "ops", targets: { "{{result}}": rate("tls_handshakes_total", { by: "result" }) } },
    {
      title: "Refused connections",
      unit: "ops",
      targets: { "{{reason}}": rate("connections_refused_total", { by: "reason" }) },
    },
    {
      title: "TCP and TLS connections",
      unit: "ops",
      targets: { "{{result}}": rate("spliced_connections_total", { by: "result" }) },
    },
    { title: "API responses", unit: "reqps", targets: { "{{status}}": rate("api_responses_total", { by: "status" }) } },
    {
      title: "Revisions that edges have not applied",
      unit: "short",
      targets: { behind: `${now("revision")} - ${now("revision_applied")}` },
    },
    {
      title: "Outgoing requests that failed",
      unit: "ops",
      targets: { "{{purpose}}": rate("outbound_requests_total", { by: "purpose", matching: 'outcome="failed"' }) },
    },
    {
      title: "Lost events and access log lines",
      unit: "ops",
      targets: {
        "dropped events": rate("events_dropped_total"),
        "failed deliveries": rate("event_failures_total"),
        "access log lines": rate("access_log_dropped_total"),
      },
    },
  ];
}

/** The dashboard, in the form that Grafana imports. */
export function dashboardOf(catalogue: ReadonlyMap<string, Metric>): object {
  const panels = panelsOf(queriesOf(catalogue, 'instance=~"$instance"'));
  return {
    uid: "postern",
    title: "Postern",
    tags: ["postern"],
    schemaVersion: 38,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "instance",
          label: "Server",
          type: "query",
          datasource: source,
          query: { query: `label_values(${queriesOf(catalogue, "").series("ready")}, instance)`, refId: "instance" },
          refresh: 2,
          includeAll: true,
          multi: true,
          allValue: ".*",
          current: { text: "All", value: "$__all" },
        },
      ],
    },
    panels: panels.map(({ title, unit, targets }, at) => ({
      id: at + 1,
      type: "timeseries",
      title,
      datasource: source,
      gridPos: { x: (at % 2) * width, y: Math.floor(at / 2) * height, w: width, h: height },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: Object.entries(targets).map(([legendFormat, expr], index) => ({
        refId: String.fromCharCode(65 + index),
        datasource: source,
        legendFormat,
        expr,
      })),
    })),
  };
}
