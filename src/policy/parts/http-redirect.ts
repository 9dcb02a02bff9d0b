/** Header fields of a policy's request, and the next request after a redirect (RFC 9110 §15.4). */
import { protectedNames } from "../../schema/header-name.ts";
import type { CallAnswer, CallHeaders, CallRequest } from "../../traffic/http-calls.ts";

/** Fields that frame the message, belong to one hop, or would name a host other than the checked one. */
const notSent: ReadonlySet<string> = new Set([...protectedNames, "host", "user-agent"]);
/** The only fields that are sent to another origin: all others may contain the policy's secrets. */
const goAlong = new Set(["accept", "accept-encoding", "accept-language", "content-type", "user-agent"]);

/** Returns fields by lower-case name. By default, requests no compression. */
export function prepareHeaders(headers: CallHeaders): CallHeaders {
  const sent: Record<string, string | readonly string[]> = { "accept-encoding": "identity", "user-agent": "postern" };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!notSent.has(lower)) sent[lower] = value;
  }
  return sent;
}

/** Returns undefined if the response is not a redirect that can be followed. Then it is the final response. */
export function followRedirect(request: CallRequest, { status, headers }: CallAnswer): CallRequest | undefined {
  const [location] = headers["location"] ?? [];
  if (location === undefined || ![301, 302, 303, 307, 308].includes(status)) return undefined;
  if (!URL.canParse(location, request.url)) return undefined;
  const url = new URL(location, request.url);
  // A request over TLS must not be repeated without TLS.
  if (request.url.protocol === "https:" && url.protocol !== "https:") return undefined;
  const becomesGet = request.method !== "HEAD" && request.method !== "GET" && status < 304;
  const kept = Object.entries(request.headers).filter(
    ([name]) => (url.origin === request.url.origin || goAlong.has(name)) && !(becomesGet && name === "content-type"),
  );
  return {
    method: becomesGet ? "GET" : request.method,
    url,
    headers: Object.fromEntries(kept),
    body: becomesGet ? undefined : request.body,
  };
}
