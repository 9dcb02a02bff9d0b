import type { Exchange, RequestHead } from "../exchange.ts";
import type { HeaderFields } from "../header-fields.ts";
import { listsOf, queryLists } from "./parsed.ts";
import { declareEmpty } from "./variable.ts";
import type { CollectionDeclaration, Variables } from "./variable.ts";

const trailersLater = "trailers come behind the body, headers before it";

/** Variables of a request and its response. */
export const messageVariables: Variables = {
  "req.method": { doc: "method", read: ({ request }) => request.method },
  "req.host": { doc: "host, without port", read: ({ request }) => request.host },
  "req.version": {
    doc: "protocol, such as `HTTP/1.1` or `HTTP/2`",
    read: ({ request }) => `HTTP/${request.httpVersion}`,
  },
  "req.url": {
    doc: "whole URL, as sent",
    isVerbatim: true,
    read: (exchange) => `${exchange.request.scheme}://${authorityOf(exchange.request)}${exchange.request.target}`,
  },
  "req.url.authority": { doc: "host, with the port where one was given", read: ({ request }) => authorityOf(request) },
  "req.url.host": { doc: "host, without port", read: ({ request }) => request.host },
  "req.url.path": { doc: "path in canonical form", isVerbatim: true, read: ({ request }) => request.path },
  "req.url.raw_path": {
    doc: "path as sent",
    isVerbatim: true,
    read: ({ request }) => request.target.split("?", 1)[0] ?? "",
  },
  "req.url.query": { doc: "query, without its `?`", isVerbatim: true, read: ({ request }) => request.query.slice(1) },
  "req.url.query_params": {
    doc: "query parameters as JSON, lists by name",
    read: ({ request }) => JSON.stringify(Object.fromEntries(queryLists.of(request, request.query))),
  },
  "req.url.scheme": { doc: "`https` or `http`", read: ({ request }) => request.scheme },
  "req.url.uri": { doc: "path and query, as sent", isVerbatim: true, read: ({ request }) => request.target },
  "req.url.user": declareEmpty("requests name no user in their URL"),
  "req.headers": {
    doc: "header fields as JSON, lists by name",
    read: ({ request }) => JSON.stringify(Object.fromEntries(listsOf(request.headers.entries()))),
  },
  "req.cookies": {
    doc: "cookies, as sent",
    isVerbatim: true,
    read: ({ request }) => request.headers.getAll("cookie").join("; "),
  },
  "req.trailers": declareEmpty(trailersLater),
  ...contentVariables("req", ({ request }) => request.headers),
  "req.user_agent": {
    doc: "User-Agent",
    isVerbatim: true,
    read: ({ request }) => request.headers.getAll("user-agent").join(", "),
  },
  "res.status_code": { doc: "status", read: ({ response }) => (response ? String(response.status) : "") },
  "res.headers": {
    doc: "header fields as JSON, lists by name",
    read: ({ response }) => (response ? JSON.stringify(Object.fromEntries(listsOf(response.headers.entries()))) : ""),
  },
  "res.cookies": {
    doc: "Set-Cookie fields",
    isVerbatim: true,
    read: ({ response }) => response?.headers.getAll("set-cookie").join("; ") ?? "",
  },
  "res.trailers": declareEmpty(trailersLater),
  ...contentVariables("res", ({ response }) => response?.headers),
};

/** Variables with named members. */
export const collections: Readonly<Record<string, CollectionDeclaration>> = {
  "req.headers": {
    doc: "one header field",
    isVerbatim: true,
    under:
      (name) =>
      ({ request }) =>
        request.headers.getAll(name).join(", "),
  },
  "res.headers": {
    doc: "one header field",
    isVerbatim: true,
    under:
      (name) =>
      ({ response }) =>
        response?.headers.getAll(name).join(", ") ?? "",
  },
  "req.cookies": {
    doc: "one cookie",
    isVerbatim: true,
    under:
      (name) =>
      ({ request }) =>
        readCookie(request.headers, name),
  },
  "req.url.query_params": {
    doc: "one query parameter",
    under:
      (name) =>
      ({ request }) =>
        queryLists.of(request, request.query).get(name)?.[0] ?? "",
  },
};

function contentVariables(of: "req" | "res", headersOf: (exchange: Exchange) => HeaderFields | undefined): Variables {
  /** "" if a field that may occur once occurs several times. */
  const field = (exchange: Exchange, name: string): string => {
    const values = headersOf(exchange)?.getAll(name) ?? [];
    return values.length === 1 ? (values[0] as string) : "";
  };
  return {
    [`${of}.content_length`]: { doc: "Content-Length", read: (exchange) => field(exchange, "content-length") },
    [`${of}.content_type`]: {
      doc: "media type, without parameters",
      read: (exchange) => field(exchange, "content-type").split(";", 1)[0]?.trim().toLowerCase() ?? "",
    },
    [`${of}.content_type.parameters`]: {
      doc: "parameters of the media type",
      isVerbatim: true,
      read: (exchange) => field(exchange, "content-type").split(";").slice(1).join(";").trim(),
    },
    [`${of}.content_type.raw`]: {
      doc: "Content-Type",
      isVerbatim: true,
      read: (exchange) => field(exchange, "content-type"),
    },
    [`${of}.location`]: { doc: "Location", isVerbatim: true, read: (exchange) => field(exchange, "location") },
  };
}

/** The authority that the client named, otherwise the edge's. */
export function authorityOf({ headers, host }: RequestHead): string {
  return headers.get("host") ?? host;
}

function readCookie(headers: HeaderFields, name: string): string {
  for (const line of headers.getAll("cookie")) {
    for (const pair of line.split(";")) {
      const equals = pair.indexOf("=");
      if (equals >= 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
    }
  }
  return "";
}
