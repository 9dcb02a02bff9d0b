/** Replies and errors → responses. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Reply } from "../operation/call.ts";
import { hasBody } from "./body.ts";
import type { Cors } from "./cors.ts";
import { dropRest } from "./drop-rest.ts";
import { errorBody } from "./error-body.ts";
import type { Exchange } from "./exchange.ts";
import { headersOf } from "./request-checks.ts";

export interface RespondOptions {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly cors: Cors;
  readonly requestsPerMinute: number;
  /** Told the status of every response. */
  count(status: number): void;
  /** No other request is taken on any connection. */
  isStopping(): boolean;
  baseUrlOf(request: IncomingMessage): string;
  /** The URI of an object that an error names, when the account may see it. */
  uriOf(accountId: string, kind: string, id: string, baseUrl: string): string | undefined;
}

export interface Responder {
  send(exchange: Exchange, reply: Reply): void;
  /** Answers with the error; nothing when the response has begun already. */
  fail(exchange: Exchange, error: unknown): void;
}

export function makeResponder(options: RespondOptions): Responder {
  const { cors, count, log } = options;
  const rateLimit = String(options.requestsPerMinute);

  const send = (exchange: Exchange, given: Reply, extra = given.headers): void => {
    const { operationId, allowance, request, response } = exchange;
    const reply = isUnchanged(request, given) ? unchanged(given) : given;
    const { status, body } = reply;
    count(status);
    const headers = ["postern-operation-id", operationId, "ngrok-operation-id", operationId];
    // It is what its Content-Type says, and nobody keeps it unless it says so itself.
    headers.push("x-content-type-options", "nosniff", "cache-control", reply.cacheControl ?? "no-store");
    headers.push(...cors.fields(request));
    if (body !== undefined) headers.push("content-type", reply.contentType ?? "application/json");
    const length = reply.contentLength ?? String(Buffer.byteLength(body ?? ""));
    if (status !== 204 && status !== 304) headers.push("content-length", length);
    if (reply.etag !== undefined) headers.push("etag", reply.etag);
    if (reply.revision !== undefined) headers.push("postern-revision", String(reply.revision));
    if (allowance) {
      headers.push("ratelimit-limit", rateLimit, "ratelimit-remaining", String(allowance.remaining));
      headers.push("ratelimit-reset", String(allowance.resetSeconds));
    }
    if (extra) headers.push(...extra);
    const isCutOff = !request.complete && isLong(request);
    if (options.isStopping() || isCutOff) headers.push("connection", "close");
    if (isCutOff) dropRest(request, options.clock);
    response.writeHead(status, headers);
    if (request.method === "HEAD") response.end();
    // A text that has as many bytes as characters is ASCII. As such it leaves with the head in one copy, where UTF-8 takes two.
    else response.end(body, typeof body === "string" && Number(length) === body.length ? "latin1" : "utf8");
  };

  return {
    send: (exchange, reply) => send(exchange, reply),
    fail(exchange, error) {
      const { operationId, response, request } = exchange;
      if (response.headersSent || response.destroyed) return;
      if (!(error instanceof Refusal)) {
        log.error("request failed", { operation_id: operationId, error: asError(error) });
        return send(exchange, errorBody(error, operationId));
      }
      const { accountId } = exchange.principal;
      const baseUrl = options.baseUrlOf(request);
      const named = namedObjects(error, (kind, id) => options.uriOf(accountId, kind, id, baseUrl));
      send(exchange, errorBody(error, operationId, named), headersOf(error));
    },
  };
}

/** Whether the client has what would be sent (RFC 9110 §13.1.2): tags are compared weakly, and as a whole. */
function isUnchanged({ method, headers }: IncomingMessage, { status, etag }: Reply): boolean {
  const held = headers["if-none-match"];
  if (held === undefined || etag === undefined || status !== 200 || (method !== "GET" && method !== "HEAD"))
    return false;
  return held.trim() === "*" || held.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** Without the body and what describes it. */
function unchanged(reply: Reply): Reply {
  const { body: _body, contentLength: _length, contentType: _type, ...head } = reply;
  return { ...head, status: 304 };
}

/** Whether reading past the body, for the sake of the connection, is not worth it. */
function isLong(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return length === undefined ? hasBody(request) : Number(length) > 65_536;
}

/** `details` name objects by `…_id` and `…_kind`; a client wants their URI as well. */
function namedObjects(
  refusal: Refusal,
  uriOf: (kind: string, id: string) => string | undefined,
): Readonly<Record<string, string>> {
  const named: Record<string, string> = {};
  for (const role of ["holder", "referrer"]) {
    const kind = refusal.details[`${role}_kind`];
    const id = refusal.details[`${role}_id`];
    const uri = kind !== undefined && id !== undefined ? uriOf(kind, id) : undefined;
    if (uri !== undefined) named[`${role}_uri`] = uri;
  }
  return named;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
