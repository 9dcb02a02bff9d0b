/** Variables of a request and its response. */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import { listOf, mapOf, types } from "../../cel/checking/cel-types.ts";
import { toInt } from "../../cel/values/cel-values.ts";
import type { RequestHead } from "../../traffic/exchange.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";
import { HeaderList } from "../../traffic/header-list.ts";
import { authorityOf } from "../../traffic/variables/message-variables.ts";
import { listsOf } from "../../traffic/variables/parsed.ts";
import type { Lists } from "../../traffic/variables/parsed.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { timestampOf } from "./policy-connection-variables.ts";
import { declareAbsent, declareKeyed, declareVariable } from "./declare.ts";
import type { Variables } from "./declare.ts";
import {
  cookieType,
  requestCookies,
  requestCookiesCost,
  responseCookies,
  responseCookiesCost,
} from "./cookie-variables.ts";
import { HeaderMap, listValues, ListMap } from "./header-map.ts";
import { userAgentVariables } from "./user-agent-variables.ts";

const { string, int: intType, timestamp } = types;
const strings = listOf(string);
const headersType = mapOf(string, strings);

const noTrailers = new HeaderList();
const versions = { "1.0": "HTTP/1.0", "1.1": "HTTP/1.1", "2": "HTTP/2.0" } as const;

function fieldsVariable(fieldsOf: (context: PolicyContext) => HeaderFields | undefined): VariableDeclaration {
  const read = (context: PolicyContext): HeaderMap | undefined => {
    const fields = fieldsOf(context);
    return fields && new HeaderMap(fields);
  };
  const item = (context: PolicyContext, name: string) => {
    const fields = fieldsOf(context);
    return fields && listValues(fields, name);
  };
  return declareKeyed(headersType, read, item);
}

export const requestVariables: Variables = {
  "req.method": declareVariable(string, ({ exchange }) => exchange?.request.method),
  "req.host": declareVariable(string, hostOf),
  "req.version": declareVariable(string, ({ exchange }) => exchange && versions[exchange.request.httpVersion]),
  "req.url": declareVariable(string, ({ exchange }) => exchange && urlOf(exchange.request)),
  "req.url.authority": declareVariable(string, ({ exchange }) => exchange && authorityOf(exchange.request)),
  "req.url.host": declareVariable(string, hostOf),
  "req.url.path": declareVariable(string, ({ exchange }) => exchange?.request.path),
  "req.url.query": declareVariable(string, ({ exchange }) => exchange?.request.query.slice(1)),
  "req.url.raw": declareVariable(string, ({ exchange }) => exchange && urlOf(exchange.request)),
  "req.url.raw_path": declareVariable(string, ({ exchange }) => exchange && uriOf(exchange.request).split("?", 1)[0]),
  "req.url.scheme": declareVariable(string, ({ exchange }) => exchange?.request.scheme),
  "req.url.uri": declareVariable(string, ({ exchange }) => exchange && uriOf(exchange.request)),
  "req.url.user_password": declareAbsent(string),
  "req.url.port": declareVariable(intType, ({ exchange }) => exchange && portOf(exchange.request)),
  "req.url.query_params": declareKeyed(
    headersType,
    (context) => new ListMap(queryParams(context)),
    (context, name) => queryParams(context).get(name),
    queryCost,
  ),
  "req.headers": fieldsVariable(({ exchange }) => exchange?.request.headers),
  "req.trailers": fieldsVariable(({ exchange }) => exchange && (exchange.request.trailers ?? noTrailers)),
  "req.cookies": declareKeyed(
    mapOf(string, listOf(cookieType)),
    (context) => new ListMap(requestCookies(context).byName),
    (context, name) => requestCookies(context).byName.get(name),
    requestCookiesCost,
  ),
  "req.location": declareVariable(string, ({ exchange }) => exchange?.request.headers.get("location")),
  "req.ts.header_received": declareVariable(timestamp, ({ exchange }) => exchange && timestampOf(exchange.receivedAt)),
  "req.ts.body_received": declareVariable(timestamp, ({ exchange }) => {
    const at = exchange?.bodyReceivedAt;
    return at === undefined ? undefined : timestampOf(at);
  }),
  ...contentVariables("req", ({ exchange }) => exchange?.request.headers),
  ...userAgentVariables,
};

export const responseVariables: Variables = {
  "res.status_code": declareVariable(intType, ({ response }) => {
    const status = response?.status;
    return status === undefined ? undefined : toInt(status);
  }),
  "res.headers": fieldsVariable(({ response }) => response?.headers),
  "res.trailers": fieldsVariable(({ response }) => response?.trailers ?? noTrailers),
  "res.cookies": declareKeyed(
    mapOf(string, listOf(cookieType)),
    (context) => new ListMap(responseCookies(context).byName),
    (context, name) => responseCookies(context).byName.get(name),
    responseCookiesCost,
  ),
  "res.location": declareVariable(string, ({ response }) => response?.headers.get("location")),
  ...contentVariables("res", ({ response }) => response?.headers),
};

/** Returns names and values, decoded as in forms. Parsed once per request. */
export function queryParams(context: PolicyContext): Lists {
  return (context.query ??= listsOf(new URLSearchParams(context.exchange?.request.query)));
}

/** Steps for each 64 characters of a query: a parameter of two characters takes 40 ns. */
const queryWeight = 4;

export function queryCost({ query, exchange }: PolicyContext): number {
  return query || !exchange ? 0 : queryWeight * ((exchange.request.query.length + 63) >> 6);
}

/** Returns the host in the Host field, without the port. A rule may have changed the field. */
function hostOf({ exchange }: PolicyContext): string | undefined {
  if (!exchange) return undefined;
  const { request } = exchange;
  const authority = authorityOf(request);
  return authority === request.host ? authority : withoutPort(authority).toLowerCase();
}

function withoutPort(authority: string): string {
  for (let at = authority.length - 1; at >= 0; at -= 1) {
    const unit = authority.charCodeAt(at);
    if (unit === 0x3a) return authority.slice(0, at);
    if (unit < 0x30 || unit > 0x39) return authority;
  }
  return authority;
}

function portOf(request: RequestHead): bigint {
  const named = /:(\d{1,5})$/.exec(authorityOf(request))?.[1];
  return toInt(named === undefined ? (request.scheme === "https" ? 443 : 80) : Number(named));
}

/** Returns path and query as a rule has set them, or as the client sent them if no rule has. */
export function uriOf({ target, rewritten }: RequestHead): string {
  return rewritten ?? target;
}

export function urlOf(request: RequestHead): string {
  return `${request.scheme}://${authorityOf(request)}${uriOf(request)}`;
}

function contentVariables(
  of: "req" | "res",
  fieldsOf: (context: PolicyContext) => HeaderFields | undefined,
): Variables {
  const raw = (context: PolicyContext): string => fieldsOf(context)?.get("content-type") ?? "";
  const costOf = (values: readonly string[] = []): number => values.reduce((sum, { length }) => sum + (length >> 4), 2);
  return {
    [`${of}.content_type`]: declareVariable(string, (context) => mediaType(raw(context))),
    [`${of}.content_type.raw`]: declareVariable(string, raw),
    [`${of}.content_type.parameters`]: declareVariable(
      mapOf(string, string),
      (context) => parametersOf(raw(context)),
      (context) => costOf([raw(context)]),
    ),
    [`${of}.content_length`]: declareVariable(intType, (context) => {
      const text = fieldsOf(context)?.get("content-length") ?? "";
      return /^\d{1,15}$/.test(text) ? toInt(Number(text)) : undefined;
    }),
    [`${of}.content_encoding`]: declareVariable(
      strings,
      (context) =>
        (fieldsOf(context)?.getAll("content-encoding") ?? [])
          .flatMap((value) => value.split(","))
          .map((coding) => coding.trim())
          .filter((coding) => coding !== ""),
      (context) => costOf(fieldsOf(context)?.getAll("content-encoding")),
    ),
  };
}

function mediaType(text: string): string {
  return (text.split(";", 1)[0] as string).trim().toLowerCase();
}

function parametersOf(text: string): Record<string, string> {
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const part of text.split(";").slice(1)) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    found[part.slice(0, equals).trim().toLowerCase()] = part
      .slice(equals + 1)
      .trim()
      .replace(/^"(.*)"$/, "$1");
  }
  return found;
}
