/** Validates and normalizes the head of a request before routing (RFC 9112 §3.2, RFC 9110 §7.2). */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { isHostField } from "./base-url.ts";

/**
 * Checks what Node's parser does not: one valid Host field, no duplicates of single fields, only supported codings.
 * Converts a target in absolute form to origin form; its authority replaces the Host field. Throws `Refusal`.
 */
export function settleHead(request: IncomingMessage): void {
  const { headers, rawHeaders } = request;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const single = singleByLength[name.length];
    // Node keeps only the first of these fields.
    if (single !== undefined && name.toLowerCase() === single) refuseSecond(rawHeaders, at, single);
  }
  const { host } = headers;
  if (host === undefined) {
    if (request.httpVersion !== "1.0") throw refuseMalformed("the Host field is missing");
  } else if (!isHostField(host)) {
    throw refuseMalformed("the Host field is not a host with or without a port");
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw refuseMalformed("Transfer-Encoding must be chunked");
  }
  const expectation = headers.expect;
  if (expectation !== undefined && request.httpVersion !== "1.0" && expectation.toLowerCase() !== "100-continue") {
    throw new Refusal("expectation_failed", "the only supported expectation is 100-continue");
  }
  if ((request.url as string).charCodeAt(0) !== slash) settleTarget(request);
}

const slash = 47;

/** Fields that a request may have only once, by the length of their name. */
const singleByLength: readonly (string | undefined)[] = Array.from({ length: 16 }, (_, length) =>
  ["host", "origin", "content-type", "authorization", "postern-reason", "idempotency-key"].find(
    (name) => name.length === length,
  ),
);

function refuseSecond(rawHeaders: readonly string[], first: number, name: string): void {
  for (let at = first + 2; at < rawHeaders.length; at += 2) {
    if ((rawHeaders[at] as string).toLowerCase() === name) throw refuseMalformed(`the field ${name} occurs twice`);
  }
}

/** `OPTIONS *` remains unchanged. */
function settleTarget(request: IncomingMessage): void {
  const target = request.url as string;
  if (target === "*" && request.method === "OPTIONS") return;
  const parts = /^https?:\/\/(?<authority>[^/?#]*)(?<path>[^#]*)$/i.exec(target)?.groups;
  if (!parts || !isHostField(parts["authority"] as string)) {
    throw refuseMalformed("the request's target is neither a path nor an http URL");
  }
  const path = parts["path"] as string;
  request.url = path.startsWith("/") ? path : `/${path}`;
  request.headers.host = parts["authority"] as string;
}

function refuseMalformed(why: string): Refusal {
  return new Refusal("bad_request", `the request is not valid HTTP: ${why}`);
}
