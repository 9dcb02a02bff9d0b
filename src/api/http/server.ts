/** The HTTP listener of the management API: from a request's head to its operation, and back. */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Key, KeyRing } from "./authenticate.ts";
import { baseUrlOf } from "./base-url.ts";
import { hasBody, noBody, readBody } from "./body.ts";
import type { ApiPrincipal, Call, Operation, Reply } from "../operation/call.ts";
import { makeConnectionRefusals } from "./connection-refusals.ts";
import { makeCors } from "./cors.ts";
import { operationIds } from "./operation-ids.ts";
import { settleHead } from "./request-head.ts";
import { checkVersion, headersOf, methodRefusal, readQuery, tooMany } from "./request-checks.ts";
import { errorBody } from "./error-body.ts";
import { makeBuckets, makeRateLimit } from "./rate-limit.ts";
import type { Allowance } from "./rate-limit.ts";
import type { SourceRestriction } from "./source-restriction.ts";
import { makeRouter } from "./router.ts";

export interface ServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Base of every URI in answers, without slash at the end; absent: as the request says. */
  readonly apiUrl?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly keys: KeyRing;
  readonly restriction: SourceRestriction;
  readonly operations: readonly Operation[];
  /** Origins whose pages may call, as browsers send them. */
  readonly origins: readonly string[];
  readonly limits: ApiLimits;
  /** The URI of an object that an error names, when the account may see it. */
  uriOf(accountId: string, kind: string, id: string, baseUrl: string): string | undefined;
}

export interface ApiLimits {
  /** Requests per minute and API key. */
  readonly requestsPerMinute: number;
  /** Attempts with a wrong key, per minute and source address. */
  readonly wrongKeysPerMinute: number;
  readonly maxConnections: number;
}

export interface ApiServer {
  readonly address: AddressInfo;
  /** Takes no new connections and resolves when the requests under way are answered, at the latest after 5 s. */
  stop(): Promise<void>;
}

const stopTimeoutMs = 5_000;
const noQuery = new URLSearchParams();
const anonymous: ApiPrincipal = { accountId: "", id: "", operator: false };

/** A request and what is known of it so far. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectsContinue: boolean;
  readonly operationId: string;
  principal: ApiPrincipal;
  allowance: Allowance | undefined;
}

export async function startServer(options: ServerOptions): Promise<ApiServer> {
  const { clock, log, keys, limits } = options;
  const router = makeRouter(options.operations);
  const rate = makeRateLimit(clock, limits.requestsPerMinute);
  const wrongKeys = makeRateLimit(clock, limits.wrongKeysPerMinute);
  const bucketOf = makeBuckets();
  const offered = [...new Set(options.operations.map(({ method }) => method)), "HEAD", "OPTIONS"].join(", ");
  const cors = makeCors(options.origins, offered);
  const rateLimit = String(limits.requestsPerMinute);
  const answered = [1, 2, 3, 4, 5].map((group) =>
    options.metrics.counter("postern_api_responses_total", "Responses of the API.", { status: `${group}xx` }),
  );
  const count = (status: number): void => answered[Math.floor(status / 100) - 1]?.add();
  const nextOperationId = operationIds(clock);
  const connectionRefusals = makeConnectionRefusals(nextOperationId, count, offered);
  let stopping = false;

  const authenticate = (request: IncomingMessage): Key => {
    try {
      return keys.authenticate(request.headers.authorization, request.socket);
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason === "missing_credentials") throw error;
      const allowance = wrongKeys.take(bucketOf(request.socket.remoteAddress ?? ""));
      throw allowance.allowed ? error : tooMany(allowance, "attempts with a wrong key");
    }
  };

  const send = (exchange: Exchange, reply: Reply, extra?: readonly string[]): void => {
    const { operationId, allowance, request, response } = exchange;
    const { status, body } = reply;
    count(status);
    const headers = ["postern-operation-id", operationId, "ngrok-operation-id", operationId];
    // It is what its Content-Type says, and nobody keeps it unless it says so itself.
    headers.push("x-content-type-options", "nosniff", "cache-control", reply.cacheControl ?? "no-store");
    headers.push(...cors.fields(request));
    if (body !== undefined) headers.push("content-type", reply.contentType ?? "application/json");
    if (status !== 204) headers.push("content-length", reply.contentLength ?? String(Buffer.byteLength(body ?? "")));
    if (reply.etag !== undefined) headers.push("etag", reply.etag);
    if (reply.revision !== undefined) headers.push("postern-revision", String(reply.revision));
    if (allowance) {
      headers.push("ratelimit-limit", rateLimit, "ratelimit-remaining", String(allowance.remaining));
      headers.push("ratelimit-reset", String(allowance.resetSeconds));
    }
    if (extra) headers.push(...extra);
    if (stopping || (!request.complete && isLong(request))) headers.push("connection", "close");
    response.writeHead(status, headers);
    if (request.method === "HEAD") response.end();
    else response.end(body);
  };

  const fail = (exchange: Exchange, error: unknown): void => {
    const { operationId, response } = exchange;
    if (response.headersSent || response.destroyed) return;
    if (!(error instanceof Refusal)) {
      log.error("request failed", { operation_id: operationId, error: asError(error) });
      return send(exchange, errorBody(error, operationId));
    }
    const accountId = exchange.principal.accountId;
    const baseUrl = options.apiUrl ?? baseUrlOf(exchange.request);
    const named = namedObjects(error, (kind, id) => options.uriOf(accountId, kind, id, baseUrl));
    send(exchange, errorBody(error, operationId, named), headersOf(error));
  };

  const run = (exchange: Exchange): Reply | Promise<Reply> => {
    const { request, response } = exchange;
    settleHead(request);
    const url = request.url as string;
    if (request.method === "OPTIONS") {
      const asked = url === "*" ? ["allow", offered] : cors.preflight(request);
      if (asked) return { status: 204, headers: asked };
    }
    const mark = url.indexOf("?");
    const found = router(mark < 0 ? url : url.slice(0, mark));
    if (!found) throw new Refusal("unknown_path", `there is no path ${JSON.stringify(url.slice(0, 128))}`);
    if (request.method === "OPTIONS") return { status: 204, headers: ["allow", found.allow] };
    const operation = found.operations.get(request.method as string);
    if (!operation) throw methodRefusal(request, found.allow);
    if (!operation.open) {
      const key = authenticate(request);
      exchange.principal = key.principal;
      options.restriction.check(key.principal.accountId, request.socket);
      checkVersion(request);
      exchange.allowance = rate.take(key.bucket);
      if (!exchange.allowance.allowed) throw tooMany(exchange.allowance, `${rateLimit} requests per minute`);
    }
    const call: Call = {
      operation,
      operationId: exchange.operationId,
      principal: exchange.principal,
      parameters: found.parameters,
      query: mark < 0 ? noQuery : readQuery(operation, url.slice(mark + 1)),
      body: noBody,
      baseUrl: options.apiUrl ?? baseUrlOf(request),
      request,
    };
    if (!hasBody(request)) return operation.run(call);
    const reading = readBody(operation, request, response, exchange.expectsContinue);
    return reading.then((body) => operation.run({ ...call, body }));
  };

  const handle = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    connectionRefusals.began(request, response);
    const operationId = nextOperationId();
    const exchange: Exchange = {
      request,
      response,
      expectsContinue,
      operationId,
      principal: anonymous,
      allowance: undefined,
    };
    try {
      const reply = run(exchange);
      if (reply instanceof Promise) settle(exchange, reply);
      else send(exchange, reply, reply.headers);
    } catch (error) {
      fail(exchange, error);
    }
  };

  const settle = (exchange: Exchange, reply: Promise<Reply>): void => {
    reply.then(
      (done) => send(exchange, done, done.headers),
      (error: unknown) => fail(exchange, error),
    );
  };

  const server = createServer(
    {
      maxHeaderSize: 16_384,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 2_000,
      insecureHTTPParser: false,
      requireHostHeader: false,
    },
    (request, response) => handle(request, response, false),
  );
  server.on("checkContinue", (request, response) => handle(request, response, true));
  // One that cannot be met is refused with the rest of the head.
  server.on("checkExpectation", (request, response) => handle(request, response, false));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => connectionRefusals.failed(error.code, socket));
  server.on("connect", (_request, socket) => connectionRefusals.connect(socket));
  // The size of the head is the bound; beyond a number, Node would drop fields without a word.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.listen.port, options.listen.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", (error) => log.error("API listener failed", { error }));
  return {
    address: server.address() as AddressInfo,
    stop() {
      stopping = true;
      return new Promise((resolve) => {
        const timer = clock.after(stopTimeoutMs, () => server.closeAllConnections());
        server.close(() => {
          timer.cancel();
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
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
