/** What a request of a policy carries, and what it becomes when its answer is a redirect (RFC 9110 §15.4). */
import { protectedNames } from "../../schema/header-name.ts";
import type { CallAnswer, CallHeaders, CallRequest } from "../../traffic/calls.ts";

/** They frame the message, belong to one hop, or would name another host than was checked. */
const notSent: ReadonlySet<string> = new Set([...protectedNames, "host", "user-agent"]);
/** Of all fields, those that go along to another origin: the policy's secrets may be in any of the others. */
const goAlong = new Set(["accept", "accept-encoding", "accept-language", "content-type", "user-agent"]);

/** By lower-case name. Without a wish for compression, none is asked for. */
export function sentHeaders(headers: CallHeaders): CallHeaders {
  const sent: Record<string, string | readonly string[]> = { "accept-encoding": "identity", "user-agent": "postern" };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!notSent.has(lower)) sent[lower] = value;
  }
  return sent;
}

/** Undefined when the answer is no redirect that can be followed: then it is the answer. */
export function redirected(request: CallRequest, { status, headers }: CallAnswer): CallRequest | undefined {
  const [location] = headers["location"] ?? [];
  if (location === undefined || ![301, 302, 303, 307, 308].includes(status)) return undefined;
  if (!URL.canParse(location, request.url)) return undefined;
  const url = new URL(location, request.url);
  // What was asked over TLS is not asked again without.
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
