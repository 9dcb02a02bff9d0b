/**
 * Renders an exchange for the server: without credentials, times in milliseconds. Parsed by
 * `src/api/traffic/read-exchange.ts`.
 */
import type { BodyCopy, CapturedResponse, InspectedExchange } from "./inspected-exchange.ts";
import { linesOf, trailersOf } from "./hidden-values.ts";
import type { HeadLines } from "./hidden-values.ts";
import type { RequestTimes } from "./told-times.ts";

export interface KeptOptions {
  /** Replays of it, or of the exchange that it replays. */
  readonly replays: readonly InspectedExchange[];
  readonly times: RequestTimes | undefined;
  /** Bytes included of each body. */
  readonly maxBodyBytes: number;
}

export function renderKept(exchange: InspectedExchange, { replays, times, maxBodyBytes }: KeptOptions): object {
  const { id, replayOf, at, outcome, durationMs, connectedMs, method, target, head, body, response } = exchange;
  const lines = linesOf(head, false);
  return {
    exchange: {
      id,
      replay_of: replayOf ?? null,
      started_at: at,
      outcome,
      duration_ms: durationMs ?? null,
      connected_ms: connectedMs ?? null,
      first_byte_ms: response?.firstByteMs ?? null,
      edge_ms: times?.edgeMs ?? null,
      wait_ms: times?.waitMs ?? null,
      request: {
        method,
        target,
        protocol: lines.first.slice(lines.first.lastIndexOf(" ") + 1),
        fields: fieldsOf(lines),
        body: renderBody(body, maxBodyBytes),
      },
      response: response ? renderResponse(response, maxBodyBytes) : null,
    },
    replays: replays.map((one) => ({ id: one.id, started_at: one.at, status: one.response?.status ?? null })),
  };
}

function renderResponse({ status, head, body, trailers }: CapturedResponse, maxBodyBytes: number): object {
  const lines = linesOf(head, false);
  return {
    status,
    protocol: lines.first.split(" ", 1)[0],
    fields: fieldsOf(lines),
    trailers: trailers ? fieldsOf(trailersOf(trailers, false)) : [],
    body: renderBody(body, maxBodyBytes),
  };
}

/** Each byte becomes one Latin-1 character, as received. */
function fieldsOf({ fields }: HeadLines): readonly (readonly [string, string])[] {
  return fields;
}

function renderBody(body: BodyCopy, maxBodyBytes: number): object {
  const bytes = body.bytes().subarray(0, maxBodyBytes);
  return { base64: bytes.toString("base64"), bytes: body.total, cut: body.total > bytes.length, ended: body.ended };
}
