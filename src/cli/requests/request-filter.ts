/** Options of the commands that select requests. */
import type { RequestsListOptions } from "../../../sdk/src/index.ts";
import { oneOf, text } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";

export const requestFilter = {
  since: flagOnly(optional("Only requests from this time on: a time ago, such as 2h, or 2026-01-01T00:00:00Z.", text)),
  until: flagOnly(optional("Only requests before this time.", text)),
  outcome: flagOnly(optional("Only requests with this outcome.", oneOf(["forwarded", "answered", "denied", "failed"]))),
  status: flagOnly(optional("Only requests with this status; 0 if there was no response.", text)),
  module: flagOnly(optional("Only requests on which this module acted, such as ip_restriction.", text)),
  rule: flagOnly(optional("Only requests that this object decided, such as a rule of an IP policy.", text)),
  sourceIp: flagOnly(optional("Only requests from this address.", text)),
  path: flagOnly(optional("Only requests with this path, or below it: /admin*.", text)),
  user: flagOnly(optional("Only requests of this visitor: an e-mail address or an id.", text)),
  text: flagOnly(optional("Only requests with this text in the id, host, path, address or status.", text)),
} as const;

export type RequestFilter = ValuesOf<typeof requestFilter>;

/** Returns the given conditions by their names in the API. */
export function conditionsOf(filter: RequestFilter): Readonly<Record<string, string>> {
  const { since, until, outcome, status, module, rule, sourceIp, path, user, text: part } = filter;
  const all = { since, until, outcome, status, module, rule, source_ip: sourceIp, path, user, text: part };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Like `conditionsOf`, for the API client. */
export function listOptionsOf(filter: RequestFilter): RequestsListOptions {
  return conditionsOf(filter) as RequestsListOptions;
}
