/** The conditions of lists of ended traffic, read from the query of the call. */
import { normaliseAddress } from "../../lib/address.ts";
import { Refusal } from "../../lib/errors.ts";
import { parseTime } from "../../lib/rfc3339.ts";
import type { TrafficFilter } from "../../routing/planes/edge-questions.ts";
import { readOnce } from "../objects/page-query.ts";
import type { Call } from "../operation/call.ts";

export const trafficQuery = ["outcome", "text", "since", "until", "module", "rule", "source_ip"] as const;
/** Of requests only. */
export const requestQuery = ["status", "path", "user"] as const;

export interface AskedTraffic {
  readonly outcome?: string | undefined;
  readonly text?: string | undefined;
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly filter: TrafficFilter;
}

/** Maximum length of a text, bytes. */
const maxTextBytes = 255;
const maxPathBytes = 4096;
const relative = /^(\d{1,5})(s|m|h|d)$/;
const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @param outcomes possible ones */
export function readTrafficQuery(call: Call, outcomes: readonly string[], nowMs: number): AskedTraffic {
  const outcome = readOnce(call, "outcome");
  if (outcome !== undefined && !outcomes.includes(outcome))
    throw refuseParameter(call, "outcome", `one of ${outcomes.join(", ")}`);
  return {
    outcome,
    text: readText(call, "text"),
    since: readTime(call, "since", nowMs),
    until: readTime(call, "until", nowMs),
    filter: {
      status: readStatus(call),
      module: readText(call, "module"),
      rule: readText(call, "rule"),
      sourceIp: readAddress(call),
      path: readText(call, "path", maxPathBytes),
      user: readText(call, "user"),
    },
  };
}

/** Returns the query of the next page, whose times no longer move. */
export function queryOf({ outcome, text, since, until, filter }: AskedTraffic): string {
  const { status, module, rule, sourceIp, path, user } = filter;
  const time = (ms: number | undefined): string | undefined => (ms === undefined ? ms : new Date(ms).toISOString());
  const given = Object.entries({
    outcome,
    text,
    since: time(since),
    until: time(until),
    status: status?.toString(),
    module,
    rule,
    source_ip: sourceIp,
    path,
    user,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `&${new URLSearchParams(given).toString()}`;
}

function readText(call: Call, name: string, maxBytes = maxTextBytes): string | undefined {
  const text = readOnce(call, name);
  if (text !== undefined && (text === "" || Buffer.byteLength(text) > maxBytes)) {
    throw refuseParameter(call, name, `1 to ${maxBytes} bytes`);
  }
  return text;
}

function readTime(call: Call, name: string, nowMs: number): number | undefined {
  const text = readOnce(call, name);
  if (text === undefined) return undefined;
  const [, count, unit] = relative.exec(text) ?? [];
  const time = count === undefined ? parseTime(text) : nowMs - Number(count) * unitMs[unit as keyof typeof unitMs];
  if (time === undefined)
    throw refuseParameter(call, name, "a time, such as 2026-11-27T10:00:00Z, or a time ago, such as 24h");
  return time;
}

function readStatus(call: Call): number | undefined {
  const text = readOnce(call, "status");
  if (text === undefined) return undefined;
  if (!/^(0|[1-5]\d\d)$/.test(text)) throw refuseParameter(call, "status", "a status from 100 to 599, or 0 for none");
  return Number(text);
}

function readAddress(call: Call): string | undefined {
  const text = readOnce(call, "source_ip");
  if (text === undefined) return undefined;
  const address = normaliseAddress(text);
  if (address === undefined) throw refuseParameter(call, "source_ip", "an IP address");
  return address;
}

function refuseParameter(call: Call, name: string, rule: string): Refusal {
  return new Refusal("query_invalid", `${call.operation.id}: "${name}" must be ${rule}`);
}
