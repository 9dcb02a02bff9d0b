import { Refusal } from "../../lib/errors.ts";
import type { Call } from "../operation/call.ts";

export const pageQuery = ["limit", "before_id", "beforeId"] as const;

export interface PageQuery {
  readonly limit: number;
  readonly beforeId: string | undefined;
}

const maxLimit = 100;

/** The TypeScript client sends `beforeId` (semantics, "Lists"). */
export function readPageQuery(call: Call): PageQuery {
  const [snake, camel] = [readOnce(call, "before_id"), readOnce(call, "beforeId")];
  if (snake !== undefined && camel !== undefined && snake !== camel) {
    const message = '"before_id" and "beforeId" are the same parameter, but have different values';
    throw new Refusal("query_invalid", `${call.operation.id}: ${message}`);
  }
  const beforeId = snake ?? camel;
  if (beforeId !== undefined && !/^[a-z0-9]{1,16}_[0-9A-Za-z]{1,64}$/.test(beforeId)) {
    throw new Refusal("query_invalid", `${call.operation.id}: "before_id" must be the id of an object`);
  }
  return { limit: readLimit(call), beforeId };
}

export function readLimit(call: Call): number {
  const text = readOnce(call, "limit");
  if (text === undefined) return maxLimit;
  const limit = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) {
    throw new Refusal("limit_invalid", `${call.operation.id}: "limit" must be a whole number from 1 to ${maxLimit}`);
  }
  return limit;
}

/**
 * Returns the body of a list response. `items` are JSON texts, `more` are additional query parameters of the next page.
 */
export function pageBody(
  call: Call,
  path: string,
  listKey: string,
  items: readonly string[],
  page: {
    readonly limit: number;
    readonly nextBeforeId: string | undefined;
    readonly more?: string;
    /** Members of the body besides those of every list, as JSON without braces. */
    readonly members?: string;
  },
): string {
  const uri = call.baseUrl + path;
  const { nextBeforeId, limit, more = "", members } = page;
  const rest = members === undefined ? "" : `,${members}`;
  const next = nextBeforeId === undefined ? null : `${uri}?before_id=${nextBeforeId}&limit=${limit}${more}`;
  return `{"${listKey}":[${items.join(",")}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}${rest}}`;
}

/** Returns the value of a query parameter that may occur once. */
export function readOnce(call: Call, name: string): string | undefined {
  const values = call.query.getAll(name);
  if (values.length > 1) throw new Refusal("query_invalid", `${call.operation.id}: "${name}" is given twice`);
  return values[0];
}

/** Whether a query parameter is `true`. Default: false. */
export function flagIn(call: Call, name: string): boolean {
  const text = readOnce(call, name) ?? "false";
  if (text === "true" || text === "false") return text === "true";
  throw new Refusal("query_invalid", `${call.operation.id}: "${name}" must be true or false`);
}
