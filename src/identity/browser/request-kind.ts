/** Classifies requests without a session. Only navigations are redirected to a login; all others get 401. */
import type { RequestHead } from "../../traffic/exchange.ts";

export type RequestKind =
  /** The visitor opens a page: may be redirected. */
  | "navigation"
  /** A page in a frame of another site, where cookies and the provider would not work. */
  | "framed"
  /** A form, which cannot be sent again after a login. */
  | "form"
  /** Everything that programs send. */
  | "program";

export function requestKind({ method, headers, websocket }: RequestHead): RequestKind {
  if (websocket || method === "OPTIONS") return "program";
  const accept = headers.get("accept");
  const purpose = `${headers.get("sec-purpose") ?? ""} ${headers.get("purpose") ?? ""} ${headers.get("x-moz") ?? ""}`;
  if (/prefetch|prerender|preview/i.test(purpose)) return "program";
  if (accept !== undefined && /text\/event-stream/i.test(accept)) return "program";
  const mode = headers.get("sec-fetch-mode");
  const fetched = mode !== undefined || headers.has("sec-fetch-dest") || headers.has("sec-fetch-site");
  if (fetched) {
    if (mode !== "navigate") return "program";
    const destination = headers.get("sec-fetch-dest");
    const isFrame = destination !== undefined && /^(?:iframe|frame|embed|object|fencedframe)$/.test(destination);
    if (isFrame && headers.get("sec-fetch-site") !== "same-origin") return "framed";
    return method === "GET" || method === "HEAD" ? "navigation" : "form";
  }
  if (headers.has("x-requested-with")) return "program";
  if (accept !== undefined && !/\*\/\*|text\/html|application\/xhtml\+xml/i.test(accept)) return "program";
  if (accept !== undefined && prefersJson(accept)) return "program";
  if (method === "GET" || method === "HEAD") return "navigation";
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/i.test(
    headers.get("content-type") ?? "",
  );
  return isForm && accept !== undefined && /text\/html/i.test(accept) ? "form" : "program";
}

/** Whether the edge's answer should be a page. */
export function wantsPage({ headers }: Pick<RequestHead, "headers">): boolean {
  const accept = headers.get("accept");
  if (headers.get("sec-fetch-mode") === "navigate") return true;
  return accept !== undefined && /text\/html|application\/xhtml\+xml/i.test(accept) && !prefersJson(accept);
}

/** Whether the client asked for JSON instead of a page. */
export function wantsJson({ headers }: Pick<RequestHead, "headers">): boolean {
  return headers.get("sec-fetch-mode") !== "navigate" && prefersJson(headers.get("accept") ?? "");
}

function prefersJson(accept: string): boolean {
  const json = accept.search(/application\/(?:[\w.-]+\+)?json/i);
  const html = accept.search(/text\/html|application\/xhtml\+xml/i);
  return json >= 0 && (html < 0 || json < html);
}
