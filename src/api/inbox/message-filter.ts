import { Refusal } from "../../lib/errors.ts";
import type { MessageFilter } from "../../storage/inbox/inbox-queries.ts";
import { readOnce } from "../objects/page-query.ts";
import type { Call } from "../operation/call.ts";
import { messageStates } from "./inbox-schemas.ts";

export const filterQuery = ["route_id", "state", "provider", "event_type", "since", "text"] as const;

const maxBytes = 255;

/** Reads the filter of a call. Throws `Refusal`. */
export function readFilter(call: Call): MessageFilter {
  const [routeId, provider, eventType, text] = ["route_id", "provider", "event_type", "text"].map((name) =>
    textIn(call, name),
  );
  const [state, since] = [readOnce(call, "state"), readOnce(call, "since")];
  const known = messageStates.find((one) => one === state);
  if (state !== undefined && known === undefined)
    throw refuseParameter(call, "state", `be one of ${messageStates.join(", ")}`);
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  if (Number.isNaN(sinceMs)) throw refuseParameter(call, "since", "be a time such as 2026-01-01T00:00:00Z");
  return { routeId, state: known, provider, eventType, since: sinceMs, text };
}

function textIn(call: Call, name: string): string | undefined {
  const text = readOnce(call, name);
  if (text === undefined || (text !== "" && Buffer.byteLength(text) <= maxBytes && !text.includes("\0"))) return text;
  throw refuseParameter(call, name, `be 1 to ${maxBytes} bytes`);
}

function refuseParameter({ operation }: Call, name: string, rule: string): Refusal {
  return new Refusal("query_invalid", `${operation.id}: "${name}" must ${rule}`);
}

/** Returns the query of the next page. */
export function queryOf(call: Call): string {
  const query = new URLSearchParams();
  for (const name of filterQuery) {
    const value = readOnce(call, name);
    if (value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? "" : `&${text}`;
}
