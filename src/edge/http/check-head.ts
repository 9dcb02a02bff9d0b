import { canonicalPath } from "../../lib/canonical-path.ts";
import { encodeCanonicalPath, encodedPathFault } from "../../lib/encoded-path.ts";
import { withoutDotSegments } from "../../lib/spelled-path.ts";
import { expectsOnlyContinue } from "../../http1/expectation.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import { refuseByRouter } from "../../routing/sites/router-refusals.ts";
import type { ReceivedRequest } from "./received-request.ts";

const refusedMethods = new Set(["CONNECT", "TRACE"]);

/**
 * Checks every request before its site is looked up: method, expectation, path and announced length. Sets the canonical
 * path, the query and the upstream's spelling of both. Returns why the request is refused, or undefined.
 */
export function checkHead(request: ReceivedRequest, maxBodyBytes: number): Step | undefined {
  const { method, target, headers } = request;
  if (refusedMethods.has(method)) return methodRefused;
  if (headers.expectIndex >= 0 && !request.expectsContinue) {
    // HTTP/1.0 has no interim responses, so servers ignore the expectation (RFC 9110 §10.1.1).
    if (request.httpVersion !== "1.0" || !expectsOnlyContinue(headers)) return expectationFailed;
    headers.delete("expect");
  }
  const mark = target.indexOf("?");
  const sent = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? "" : target.slice(mark);
  let path = canonicalPath(sent);
  if (path === undefined) {
    path = encodeCanonicalPath(sent);
    if (path === undefined) return refusePath(sent);
    request.isEncoded = true;
  }
  request.path = path;
  request.query = query;
  request.spelled = path === sent ? target : withoutDotSegments(sent) + query;
  return request.bodyLength > maxBodyBytes ? bodyTooLarge : undefined;
}

const methodRefused: Step = Object.freeze({
  ...refuseByRouter("method_refused", "the method is not forwarded"),
  answer: {
    error: "method_refused",
    headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
  } satisfies Answer,
});
const expectationFailed = refuseByRouter("expectation_failed", "the request expects something other than 100-continue");
const bodyTooLarge = refuseByRouter("payload_too_large", "the announced body is larger than allowed");

function refusePath(path: string): Step {
  const fault = encodedPathFault(path);
  const answer: Answer = {
    error: "bad_request",
    detail: `the path has ${fault}, which servers interpret differently`,
  };
  return { ...refuseByRouter("bad_request", `the path has no canonical form: it has ${fault}`), answer };
}
