/** What expressions read of a request and its response. */
import { listOf, mapOf, types } from "../../cel/checking/types.ts";
import { int } from "../../cel/values/values.ts";
import type { Value } from "../../cel/values/values.ts";
import type { HeaderFields, RequestHead } from "../../traffic/exchange.ts";
import { authorityOf } from "../../traffic/variables/message-variables.ts";
import type { PolicyContext } from "../language/context.ts";
import { absent, timestampOf, variable } from "./connection.ts";
import type { Variables } from "./connection.ts";
import { cookieType, requestCookies, responseCookies } from "./cookies.ts";
import type { Cookie } from "./cookies.ts";
import { HeaderMap, ListMap } from "./header-map.ts";
import { userAgentVariables } from "./user-agent.ts";

const { string, int: intType, timestamp } = types;
const strings = listOf(string);
const headersType = mapOf(string, strings);

function ofRequest(read: (request: RequestHead, context: PolicyContext) => Value | undefined) {
  return (context: PolicyContext): Value | undefined =>
    context.exchange ? read(context.exchange.request, context) : undefined;
}

const noFields = new ListMap([]);

export const requestVariables: Variables = {
  "req.method": variable(
    string,
    ofRequest(({ method }) => method),
  ),
  "req.host": variable(string, ofRequest(hostOf)),
  "req.version": variable(
    string,
    ofRequest(({ httpVersion }) => `HTTP/${httpVersion === "2" ? "2.0" : httpVersion}`),
  ),
  "req.url": variable(string, ofRequest(urlOf)),
  "req.url.authority": variable(string, ofRequest(authorityOf)),
  "req.url.host": variable(string, ofRequest(hostOf)),
  "req.url.path": variable(
    string,
    ofRequest(({ path }) => path),
  ),
  "req.url.query": variable(
    string,
    ofRequest(({ query }) => query.slice(1)),
  ),
  "req.url.raw": variable(string, ofRequest(urlOf)),
  "req.url.raw_path": variable(
    string,
    ofRequest((request) => uriOf(request).split("?", 1)[0]),
  ),
  "req.url.scheme": variable(
    string,
    ofRequest(({ scheme }) => scheme),
  ),
  "req.url.uri": variable(string, ofRequest(uriOf)),
  "req.url.user_password": absent(string),
  "req.url.port": variable(intType, ofRequest(portOf)),
  "req.url.query_params": variable(headersType, ofRequest(queryParams)),
  "req.headers": variable(
    headersType,
    ofRequest(({ headers }) => new HeaderMap(headers)),
  ),
  "req.trailers": variable(
    headersType,
    ofRequest(({ trailers }) => (trailers ? new HeaderMap(trailers) : noFields)),
  ),
  "req.cookies": variable(
    mapOf(string, listOf(cookieType)),
    ofRequest(({ headers }) => byName(requestCookies(headers))),
  ),
  "req.location": variable(
    string,
    ofRequest(({ headers }) => headers.get("location")),
  ),
  "req.ts.header_received": variable(timestamp, ({ exchange }) => exchange && timestampOf(exchange.receivedAt)),
  "req.ts.body_received": variable(timestamp, ({ exchange }) => {
    const at = exchange?.bodyReceivedAt;
    return at === undefined ? undefined : timestampOf(at);
  }),
  ...contentVariables("req", ({ exchange }) => exchange?.request.headers),
  ...userAgentVariables,
};

export const responseVariables: Variables = {
  "res.status_code": variable(intType, ({ response }) => {
    const status = response?.status;
    return status === undefined ? undefined : int(status);
  }),
  "res.headers": variable(headersType, ({ response }) => {
    const headers = response?.headers;
    return headers && new HeaderMap(headers);
  }),
  "res.trailers": variable(headersType, ({ response }) => {
    const trailers = response?.trailers;
    return trailers ? new HeaderMap(trailers) : noFields;
  }),
  "res.cookies": variable(mapOf(string, listOf(cookieType)), ({ response }) => {
    const headers = response?.headers;
    return headers && byName(responseCookies(headers));
  }),
  "res.location": variable(string, ({ response }) => response?.headers.get("location")),
  ...contentVariables("res", ({ response }) => response?.headers),
};

function byName(cookies: readonly Cookie[]): ListMap {
  return new ListMap(cookies.map((cookie) => [cookie["name"] as string, cookie] as const));
}

/** Names and values decoded as forms are. */
export function queryParams({ query }: Pick<RequestHead, "query">): ListMap {
  return new ListMap(new URLSearchParams(query));
}

function hostOf(request: RequestHead): string {
  return authorityOf(request).replace(/:\d*$/, "").toLowerCase();
}

function portOf(request: RequestHead): bigint {
  const named = /:(\d{1,5})$/.exec(authorityOf(request))?.[1];
  return int(named === undefined ? (request.scheme === "https" ? 443 : 80) : Number(named));
}

/** Path and query, as they are forwarded where a rule has changed them, else as the client sent them. */
export function uriOf({ path, query, target, isRewritten }: RequestHead): string {
  return isRewritten === true ? path + query : target;
}

export function urlOf(request: RequestHead): string {
  return `${request.scheme}://${authorityOf(request)}${uriOf(request)}`;
}

function contentVariables(
  of: "req" | "res",
  fieldsOf: (context: PolicyContext) => HeaderFields | undefined,
): Variables {
  const raw = (context: PolicyContext): string => fieldsOf(context)?.get("content-type") ?? "";
  return {
    [`${of}.content_type`]: variable(string, (context) => mediaType(raw(context))),
    [`${of}.content_type.raw`]: variable(string, raw),
    [`${of}.content_type.parameters`]: variable(mapOf(string, string), (context) => parametersOf(raw(context))),
    [`${of}.content_length`]: variable(intType, (context) => {
      const text = fieldsOf(context)?.get("content-length") ?? "";
      return /^\d{1,15}$/.test(text) ? int(Number(text)) : undefined;
    }),
    [`${of}.content_encoding`]: variable(strings, (context) =>
      (fieldsOf(context)?.getAll("content-encoding") ?? [])
        .flatMap((value) => value.split(","))
        .map((coding) => coding.trim())
        .filter((coding) => coding !== ""),
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
