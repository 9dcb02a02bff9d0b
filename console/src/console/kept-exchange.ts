/** Converts a captured request from the API to the model of the components. */
import type { Exchange as KeptExchange, Request } from "../../../sdk/src/index.ts";
import type { ShownExchange, Headers, Message } from "../exchange/model.ts";

type KeptRequestBody = KeptExchange["request"]["body"];
type KeptHeaders = KeptExchange["request"]["headers"];

const toNanoseconds = (ms: number | null): number | null => (ms === null ? null : ms * 1_000_000);

export function asExchange(kept: KeptExchange, { source_ip, source_country, tunnel }: Request): ShownExchange {
  const { timing, request, response } = kept;
  const { edge_ms, tunnel_ms, connect_ms, upstream_ms } = timing;
  const parts = [edge_ms, tunnel_ms, connect_ms, upstream_ms].filter((ms) => ms !== null);
  return {
    id: kept.exchange_id,
    tunnel_name: tunnel?.forwards_to ?? "",
    remote_addr: source_ip,
    remote_country: source_country,
    start: kept.started_at,
    duration: toNanoseconds(kept.duration_ms) ?? 0,
    first_byte: upstream_ms === null ? null : toNanoseconds((connect_ms ?? 0) + upstream_ms),
    timing: {
      edge: toNanoseconds(edge_ms),
      tunnel: toNanoseconds(tunnel_ms),
      connect: toNanoseconds(connect_ms),
      upstream: toNanoseconds(upstream_ms),
      first_byte: parts.length < 4 ? null : toNanoseconds(parts.reduce((sum, ms) => sum + ms)),
    },
    outcome: kept.outcome,
    ...(kept.replay_of !== null && { replay_of: kept.replay_of }),
    request: {
      ...messageOf(request.protocol, request.headers, request.body),
      method: request.method,
      uri: request.target,
    },
    response: response && {
      ...messageOf(response.protocol, response.headers, response.body),
      ...(response.trailers.length > 0 && { trailers: headersOf(response.trailers) }),
      status: String(response.status_code),
      status_code: response.status_code,
    },
  };
}

function messageOf(proto: string, fields: KeptHeaders, { base64, bytes, cut, ended }: KeptRequestBody): Message {
  const kept = (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0);
  return { proto, headers: headersOf(fields), raw: base64, body: { bytes, kept, cut, ended } };
}

/** Returns the fields with their names as sent, in order. */
function headersOf(fields: KeptHeaders): Headers {
  const byName = new Map<string, [string, string[]]>();
  for (const { name, value } of fields) {
    const known = byName.get(name.toLowerCase());
    if (known) known[1].push(value);
    else byName.set(name.toLowerCase(), [name, [value]]);
  }
  return Object.fromEntries(byName.values());
}
