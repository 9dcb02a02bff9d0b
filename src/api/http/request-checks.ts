/** Checks for every request, and the refusals of HTTP itself. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { readHeader } from "../operation/call.ts";
import type { Operation } from "../operation/call.ts";
import type { Allowance } from "./rate-limit.ts";

/** `Ngrok-Version` is accepted as an alias. */
export function checkVersion(request: IncomingMessage): void {
  const service = readHeader(request, "service-version");
  const ngrok = readHeader(request, "ngrok-version");
  if ((service ?? ngrok) === "2" && (ngrok ?? service) === "2") return;
  const versions = [service, ngrok].filter((one) => one !== undefined);
  if (versions.length === 0)
    throw new Refusal("version_missing", "the header Service-Version is missing; supported: 2");
  const wrong = versions.find((version) => version !== "2") as string;
  const shown = JSON.stringify(wrong.slice(0, 32));
  throw new Refusal("version_unsupported", `version ${shown} is not supported; supported: 2`);
}

export function readQuery(operation: Operation, text: string): URLSearchParams {
  const query = new URLSearchParams(text);
  const known = operation.query ?? [];
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    const list = known.length > 0 ? `known are: ${known.join(", ")}` : "there are none";
    throw new Refusal(
      "query_unknown",
      `${operation.id}: query parameter ${JSON.stringify(name.slice(0, 64))} is unknown; ${list}`,
    );
  }
  return query;
}

export function headersOf(refusal: Refusal): string[] | undefined {
  // An ambiguous request is the last on its connection (W1).
  if (refusal.reason === "bad_request") return ["connection", "close"];
  // RFC 9110 §12.5.3.
  if (refusal.reason === "content_encoding") return ["accept-encoding", "identity"];
  if (refusal.reason === "precondition_failed" && refusal.details["etag"]) return ["etag", refusal.details["etag"]];
  if (refusal.status === 401) return ["www-authenticate", "Bearer"];
  if (refusal.status === 405) return ["allow", refusal.details["allow"] ?? ""];
  if (refusal.status === 429) return ["retry-after", refusal.details["retry_after"] ?? "60"];
  // Behind a load balancer, a new connection leads to a node that can answer.
  if (refusal.status === 503) return ["retry-after", "1", "connection", "close"];
  return undefined;
}

export function methodRefusal(request: IncomingMessage, allow: string): Refusal {
  return new Refusal("method_not_allowed", `${request.method} is not supported here; supported: ${allow}`, { allow });
}

export function refuseTooMany(allowance: Allowance, what: string): Refusal {
  const retry_after = String(allowance.resetSeconds);
  return new Refusal("too_many_requests", `limit of ${what} exceeded; wait ${retry_after} s`, { retry_after });
}

export function clientRefusal(code: string | undefined): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return new Refusal("headers_too_large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Refusal("request_timeout");
  return new Refusal("bad_request");
}
