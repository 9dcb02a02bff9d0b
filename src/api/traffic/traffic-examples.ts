/** Example replies about the edge's traffic, for the description of the API. */
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleTime } from "../operation/example-ids.ts";

const rule = { kind: "ip_policy_rule", id: exampleId("ip_policy_rule"), revision: 41 };
const route = { id: exampleId("https_edge_route"), revision: 40 };
const backend = { kind: "tunnel_group_backend", id: exampleId("tunnel_group_backend"), revision: 38 };
const tunnel = {
  id: exampleId("tunnel"),
  tunnel_session_id: exampleId("tunnel_session"),
  forwards_to: "localhost:8080",
};

const matched = {
  by: "router",
  outcome: "passed",
  reason: 'path_prefix "/orders" matches',
  decided_by: { kind: "https_edge_route", ...route },
  rule: null,
};
const admitted = {
  by: "ip_restriction",
  outcome: "passed",
  reason: "192.0.2.1 is allowed by 192.0.2.0/24",
  decided_by: rule,
  rule: null,
};
const sent = { by: "backend", outcome: "passed", reason: "1 of 1 tunnels is online", decided_by: backend, rule: null };

const denied = {
  by: "ip_restriction",
  outcome: "denied",
  reason: "no rule allows 198.51.100.7",
  decided_by: null,
  rule: null,
};
const tail = "0f6yvqk3c5a9m2x7p4r8t1w6z0b";

export const exampleRequest = {
  id: `req_${tail}`,
  uri: `${exampleBaseUrl}/requests/req_${tail}`,
  ended_at: exampleTime,
  method: "GET",
  host: "app.example.com",
  path: "/orders",
  source_ip: "198.51.100.7",
  source_country: null,
  site_id: exampleId("https_edge"),
  route_id: route.id,
  tunnel: null,
  outcome: "denied",
  status_code: 403,
  error_code: "ERR_POSTERN_3205",
  duration_ms: 0.4,
  upstream_ms: null,
  bytes_in: 0,
  bytes_out: 412,
  cut_short: false,
  captured: false,
  trace_id: null,
  steps: [matched, denied],
};

export const exampleClosedConnection = {
  id: `con_${tail}`,
  uri: `${exampleBaseUrl}/connections/con_${tail}`,
  ended_at: exampleTime,
  protocol: "tls",
  server_name: "db.example.com",
  port: 443,
  source_ip: "198.51.100.7",
  source_country: null,
  site_id: exampleId("tls_edge"),
  outcome: "denied",
  error_code: "ERR_POSTERN_3205",
  duration_ms: 3,
  bytes_in: 0,
  bytes_out: 0,
  steps: [denied],
};

export const exampleExplanation = {
  revision: 42,
  edge: { kind: "https_edge", id: exampleId("https_edge"), revision: 39 },
  source_country: "DE",
  route,
  near_routes: [
    { id: "edghtsrt_0f6yvqk3c5a9m2x7p4r8t1w6z0c", match_type: "exact_path", match: "/order", reason: "another path" },
  ],
  outcome: "forwarded",
  status_code: null,
  error_code: null,
  steps: [matched, admitted, sent],
  backend,
  tunnel,
  address: null,
  request_headers: [
    { name: "host", value: "app.example.com" },
    { name: "user-agent", value: "curl/8.0" },
    { name: "x-forwarded-for", value: "192.0.2.1" },
  ],
  response: null,
};

/** Returns an example of a connection to an edge of `kind`. */
export function exampleConnection(kind: string): Record<string, unknown> {
  return {
    ...exampleExplanation,
    edge: { kind: `${kind}_edge`, id: exampleId(`${kind}_edge`), revision: 39 },
    route: null,
    near_routes: [],
    steps: [admitted, sent],
    request_headers: [],
  };
}
