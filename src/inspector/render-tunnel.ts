/** Renders tunnels and exchanges in the format of other agents' local APIs. Durations are nanoseconds. */
import { contentsOf, webSocketOf } from "./contents.ts";
import type { BodyCopy, CapturedResponse, InspectedExchange } from "./inspected-exchange.ts";
import type { InspectedTunnel } from "./inspector.ts";
import { rpcCallsOf } from "./json-rpc.ts";
import type { Measured } from "./meter.ts";
import type { RequestTimes, ToldTimes } from "./told-times.ts";
import { linesOf, renderHead, trailersOf } from "./hidden-values.ts";
import type { HeadLines } from "./hidden-values.ts";
import { webhooksOf } from "./sign-anew.ts";

const nsPerMs = 1_000_000;

export function renderTunnel(tunnel: InspectedTunnel): object {
  const { name, upstream, proto = "https", options } = tunnel.options;
  const webhooks = webhooksOf(options);
  return {
    name,
    uri: `/api/tunnels/${encodeURIComponent(name)}`,
    public_url: tunnel.url ?? "",
    proto,
    config: { addr: upstream.text, inspect: tunnel.isKept, ...(webhooks && { signs: webhooks.provider }) },
    metrics: metricsOf(tunnel),
  };
}

function metricsOf(tunnel: InspectedTunnel): object {
  const connections = tunnel.connections.read();
  const requests = tunnel.requests.read();
  return {
    conns: { count: connections.count, gauge: connections.gauge, ...renderPaces(connections) },
    http: { count: requests.count, ...renderPaces(requests) },
  };
}

/** The fields of a tunnel in the newer format. */
export function renderEndpoint(tunnel: InspectedTunnel): object {
  const { name, upstream, publish, pooling = false, trafficPolicy } = tunnel.options;
  return {
    name,
    uri: `/api/endpoints/${encodeURIComponent(name)}`,
    url: tunnel.url ?? "",
    upstream: { url: upstream.text, protocol: upstream.http2 ? "http2" : "http1" },
    ...(publish.kind === "labels" && { labels: publish.labels }),
    inspect: tunnel.isKept,
    ...(trafficPolicy !== undefined && { traffic_policy: trafficPolicy }),
    pooling_enabled: pooling,
    metrics: metricsOf(tunnel),
  };
}

function renderPaces({ rates, percentile }: Measured): object {
  const [rate1, rate5, rate15] = rates;
  const at = (share: number): number => Math.round(percentile(share) * nsPerMs);
  return { rate1, rate5, rate15, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

export interface RenderOptions {
  /** Whether to include authorization and cookies. */
  readonly reveals?: boolean;
  /** Whether to omit `raw`, the decoded content and timing. */
  readonly isBrief?: boolean;
  /** Times that the server reported for requests. */
  readonly times?: ToldTimes;
}

export function renderExchange(
  exchange: InspectedExchange,
  { reveals = false, isBrief = false, times }: RenderOptions,
): object {
  const { id, tunnel, client, at, method, target, head, body, response, durationMs } = exchange;
  const asked = linesOf(head, reveals);
  return {
    uri: `/api/requests/http/${id}`,
    id,
    tunnel_name: tunnel,
    remote_addr: client,
    remote_country: times?.countryOf(exchange) ?? null,
    start: new Date(at).toISOString(),
    duration: Math.round((durationMs ?? 0) * nsPerMs),
    request: {
      method,
      proto: asked.first.slice(asked.first.lastIndexOf(" ") + 1),
      headers: headersOf(asked),
      uri: target,
      ...(!isBrief && { raw: rawOf(asked, body), ...contentsOf(asked, body) }),
      body: sizesOf(body),
    },
    response: response ? renderResponse(response, reveals, isBrief) : null,
    outcome: exchange.outcome,
    first_byte: response ? Math.round(response.firstByteMs * nsPerMs) : null,
    ...(!isBrief && { timing: timingOf(exchange, times?.of(exchange)) }),
    ...(exchange.fault !== undefined && { fault: exchange.fault }),
    ...(exchange.bytesIn + exchange.bytesOut > 0 && {
      passed: { bytes_in: exchange.bytesIn, bytes_out: exchange.bytesOut },
    }),
    ...(!isBrief && webSocketOf(exchange)),
    ...rpcOf(exchange, isBrief),
    ...(exchange.replayOf !== undefined && { replay_of: exchange.replayOf }),
  };
}

/** Calls of JSON-RPC; in lists without contents. */
function rpcOf(exchange: InspectedExchange, isBrief: boolean): object {
  const calls = rpcCallsOf(exchange);
  if (calls.length === 0) return {};
  return { rpc: isBrief ? calls.map(({ params: _params, result: _result, ...brief }) => brief) : calls };
}

/**
 * Splits the time to the first byte as far as it is known; null for unknown parts. The edge reports how long it held
 * the request and how long it then waited. The time that the agent did not observe was spent between the two.
 */
function timingOf({ response, connectedMs }: InspectedExchange, times: RequestTimes | undefined): object {
  const ns = (ms: number | undefined): number | null =>
    ms === undefined ? null : Math.round(Math.max(0, ms) * nsPerMs);
  const firstByteMs = response?.firstByteMs;
  return {
    edge: ns(times?.edgeMs),
    tunnel: ns(times && firstByteMs !== undefined ? times.waitMs - firstByteMs : undefined),
    connect: ns(firstByteMs === undefined ? undefined : (connectedMs ?? 0)),
    upstream: ns(firstByteMs === undefined ? undefined : firstByteMs - (connectedMs ?? 0)),
    first_byte: ns(times && times.edgeMs + times.waitMs),
  };
}

function renderResponse(
  { status, head, body, trailers }: CapturedResponse,
  reveals: boolean,
  isBrief: boolean,
): object {
  const lines = linesOf(head, reveals);
  const behind = trailers && trailersOf(trailers, reveals);
  const [proto] = lines.first.split(" ", 1);
  return {
    status: lines.first.slice(lines.first.indexOf(" ") + 1),
    status_code: status,
    proto,
    headers: headersOf(lines),
    ...(behind && { trailers: headersOf(behind) }),
    ...(!isBrief && { raw: rawOf(lines, body), ...contentsOf(lines, body, behind && renderHead(behind)) }),
    body: sizesOf(body),
  };
}

/** Names as sent. A repeated field has several values. */
function headersOf({ fields }: HeadLines): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  const spelled = new Map<string, string>();
  for (const [name, value] of fields) {
    const key = spelled.get(name.toLowerCase()) ?? name;
    spelled.set(name.toLowerCase(), key);
    (headers[key] ??= []).push(value);
  }
  return headers;
}

/** Head and unframed body, base64. */
function rawOf(lines: HeadLines, body: BodyCopy): string {
  return Buffer.concat([Buffer.from(renderHead(lines), "latin1"), body.bytes()]).toString("base64");
}

function sizesOf(body: BodyCopy): object {
  return { bytes: body.total, kept: body.bytes().length, cut: body.isCut, ended: body.ended };
}
