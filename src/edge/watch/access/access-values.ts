/** The value of each field of an access log line. */
import type { AccessField } from "../../../lib/access-fields.ts";
import { codeOf, outcomeOf } from "../../../routing/planes/edge-questions.ts";
import type { FinishedExchange } from "../../http/http-context.ts";

export type AccessValue = string | number | boolean | undefined;
/** @param endedAt milliseconds since 1970 */
export type ReadValue = (exchange: FinishedExchange, endedAt: number) => AccessValue;

/** Characters of a path, of a query and of a header field. */
const maxText = 2048;

export const readers: Readonly<Record<AccessField, ReadValue>> = {
  time: (_exchange, endedAt) => new Date(endedAt).toISOString(),
  id: ({ id }) => id,
  source: ({ source }) => source,
  method: ({ method }) => method,
  scheme: ({ request }) => request.scheme,
  host: ({ host }) => host,
  path: pathOf,
  http_version: ({ request }) => request.httpVersion,
  status: ({ status }) => status,
  outcome({ steps, status, cutShort }) {
    const last = steps.at(-1);
    return cutShort ? "failed" : outcomeOf(last, last?.answer, status);
  },
  error_code: ({ steps }) => codeOf(steps.at(-1)?.answer),
  decided_by({ steps }) {
    const last = steps.at(-1);
    return last?.answer === undefined ? undefined : last.by;
  },
  bytes_in: ({ bytesIn }) => bytesIn,
  bytes_out: ({ bytesOut }) => bytesOut,
  duration_ms: ({ durationMs }) => toMicroseconds(durationMs),
  upstream_ms: ({ waitedMs }) => (waitedMs === undefined ? undefined : toMicroseconds(waitedMs)),
  user: userOf,
  user_agent: headerValue("user-agent"),
  referer: headerValue("referer"),
  site: ({ siteId }) => siteId,
  route: ({ routeId }) => routeId,
  trace_id: ({ trace }) => trace?.traceId,
  query({ request }) {
    const at = request.target.indexOf("?");
    return at < 0 ? undefined : request.target.slice(at, at + maxText);
  },
  source_port: ({ connection }) => connection.sourcePort || undefined,
  account: ({ accountId }) => accountId,
  tunnel: ({ tunnel }) => tunnel?.id,
  tls_version: ({ connection }) => connection.tls?.version,
  tls_cipher: ({ connection }) => connection.tls?.cipher,
  server_name: ({ connection }) => connection.tls?.serverName,
  websocket: ({ request }) => request.websocket,
  cut_short: ({ cutShort }) => cutShort,
};

/** The value of a request header field; undefined without the field. */
export function headerValue(name: string): ReadValue {
  return ({ request }) => {
    const values = request.headers.getAll(name);
    return values.length === 0 ? undefined : values.join(", ").slice(0, maxText);
  };
}

/** The path without its query. A request that was rejected before its path was read has the path that the client sent. */
export function pathOf({ path, request }: FinishedExchange): string {
  return (path === "" ? (request.target.split("?", 1)[0] as string) : path).slice(0, maxText);
}

export function userOf({ login }: FinishedExchange): string | undefined {
  const name = login === undefined ? "" : login.email || login.subject;
  return name === "" ? undefined : name.slice(0, maxText);
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
