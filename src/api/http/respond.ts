/** Writes replies and errors as responses. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { runUnattended, reportFailure } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Reply } from "../operation/call.ts";
import { hasBody } from "./body.ts";
import type { Cors } from "./cors.ts";
import { dropRest } from "./drop-rest.ts";
import { errorBody } from "./error-body.ts";
import type { ApiExchange } from "./api-exchange.ts";
import { headersOf } from "./request-checks.ts";

export interface RespondOptions {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly cors: Cors;
  readonly requestsPerMinute: number;
  /** Called with the status of every response. */
  count(status: number): void;
  baseUrlOf(request: IncomingMessage): string;
  /** Returns the URI of an object that an error names, if the account may see it. */
  uriOf(accountId: string, kind: string, id: string, baseUrl: string): string | undefined;
}

export interface Responder {
  send(exchange: ApiExchange, reply: Reply): void;
  /** Responds with the error, unless the response has already started. */
  fail(exchange: ApiExchange, error: unknown): void;
}

export function makeResponder(options: RespondOptions): Responder {
  const { cors, count, log } = options;
  const rateLimit = String(options.requestsPerMinute);

  const send = (exchange: ApiExchange, original: Reply, extra = original.headers): void => {
    const { operationId, allowance, request, response } = exchange;
    const reply = isUnchanged(request, original) ? omitBody(original) : original;
    const { status, body } = reply;
    count(status);
    const headers = ["postern-operation-id", operationId, "ngrok-operation-id", operationId];
    // Browsers must not guess the content type, and caches must not store the response unless it allows that.
    headers.push("x-content-type-options", "nosniff", "cache-control", reply.cacheControl ?? "no-store");
    headers.push(...cors.fields(request));
    if (body !== undefined || reply.stream !== undefined)
      headers.push("content-type", reply.contentType ?? "application/json");
    const length = reply.contentLength ?? String(Buffer.byteLength(body ?? ""));
    if (status !== 204 && status !== 304 && reply.stream === undefined) headers.push("content-length", length);
    if (reply.etag !== undefined) headers.push("etag", reply.etag);
    if (reply.revision !== undefined) headers.push("postern-revision", String(reply.revision));
    if (allowance) {
      headers.push("ratelimit-limit", rateLimit, "ratelimit-remaining", String(allowance.remaining));
      headers.push("ratelimit-reset", String(allowance.resetSeconds));
    }
    if (extra) headers.push(...extra);
    const isCutOff = !request.complete && isLong(request);
    if (isCutOff) {
      headers.push("connection", "close");
      dropRest(request, options.clock);
    }
    response.writeHead(status, headers);
    if (request.method === "HEAD") response.end();
    else if (reply.stream !== undefined) sendPieces(response, reply.stream);
    // A text with as many bytes as characters is ASCII. Node then writes it with the head in one copy, while UTF-8
    // takes two.
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
      const named = addObjectUris(error, (kind, id) => options.uriOf(accountId, kind, id, baseUrl));
      send(exchange, errorBody(error, operationId, named), headersOf(error));
    },
  };
}

/** Sends pieces at the client's pace. An error cuts the response, so that the client sees that it is incomplete. */
function sendPieces(response: ServerResponse, pieces: AsyncIterable<string>): void {
  runUnattended("exchange", pipeline(Readable.from(pieces), response), (error) => {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") reportFailure("exchange", error);
  });
}

/** Whether the client already has this version (RFC 9110 §13.1.2). Whole tags are compared weakly. */
function isUnchanged({ method, headers }: IncomingMessage, { status, etag }: Reply): boolean {
  const held = headers["if-none-match"];
  if (held === undefined || etag === undefined || status !== 200 || (method !== "GET" && method !== "HEAD"))
    return false;
  return held.trim() === "*" || held.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** Returns the reply without the body and the fields that describe it. */
function omitBody(reply: Reply): Reply {
  const { body: _body, contentLength: _length, contentType: _type, ...head } = reply;
  return { ...head, status: 304 };
}

/** Whether the body is too long to read past it just to reuse the connection. */
function isLong(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return length === undefined ? hasBody(request) : Number(length) > 65_536;
}

/** Adds the URI of objects that `details` name by `…_id` and `…_kind`. */
function addObjectUris(
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
