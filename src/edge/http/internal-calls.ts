/**
 * Requests of policies to internal endpoints. They are normal exchanges whose client is the edge itself. The endpoint's
 * own modules and rules decide about them.
 */
import { makeContained } from "../../lib/boundary.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { nameOf } from "../../lib/plain-names.ts";
import { AnswerTooLong } from "../../outbound/outbound.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { CallAnswer, CallBounds, CallRequest, InternalCalls } from "../../traffic/http-calls.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import { ClientConnection } from "./visitor-connection.ts";
import type { ClientSide, ExchangeInput } from "./client-side.ts";
import type { HttpContext, InternalSites } from "./http-context.ts";
import { receiveDescribed } from "./described-request.ts";
import { HttpExchange } from "./http-exchange.ts";

/** The edge sets these fields for the endpoint's rules. Public clients' values are removed. */
const ownPrefix = "ngrok-";

/** @param context called when a request is sent */
export function makeInternalCalls(context: () => HttpContext, internalSite: InternalSites): InternalCalls {
  let shared: HttpContext | undefined;
  return {
    async send(request, origin, bounds) {
      // The edge knows the source of the request, so it trusts no X-Forwarded-For.
      shared ??= { ...context(), trustsProxy: undefined };
      const { url } = request;
      const described = describeCall(request, shared);
      const wanted = nameOf(described.scheme, url.hostname);
      if (internalSite(origin.accountId, wanted) === undefined) throw new Error("the endpoint is not online");
      const find = (host: string) => (host === url.hostname ? internalSite(origin.accountId, wanted) : undefined);
      const connection = new ClientConnection({ ...origin.connection, tls: undefined }, find, shared, described.scheme);
      connection.ownFields = fieldsOf(request).filter(([name]) => name.startsWith(ownPrefix));
      connection.calls = origin.chain;
      return collectAnswer(connection, described, request.body, bounds);
    },
  };
}

function describeCall(request: CallRequest, { limits }: HttpContext) {
  const { method, url, body = "" } = request;
  const scheme = url.protocol === "https:" ? "https" : "http";
  const headers = fieldsOf(request).filter(([name]) => !name.startsWith(ownPrefix));
  const target = url.pathname + url.search;
  const given = { method, target, host: url.hostname, headers, body, scheme } as const;
  const received = receiveDescribed(given, limits);
  if (typeof received === "string") throw new Error(`the request cannot be sent: ${received}`);
  return received;
}

function fieldsOf({ headers }: CallRequest): HeaderPairs {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const));
}

/** Rejects if the response is cut short, late or too long. */
async function collectAnswer(
  connection: ClientConnection,
  received: ConstructorParameters<typeof HttpExchange>[2],
  body: string | undefined,
  { timeoutMs, maxAnswerBytes }: CallBounds,
): Promise<CallAnswer> {
  const client = new CollectingClient(maxAnswerBytes);
  const exchange = new HttpExchange(connection, client, received);
  client.exchange = exchange;
  connection.carrier = client;
  const timer = connection.context.clock.after(timeoutMs, () => client.giveUp(new Error("no answer in time")));
  try {
    exchange.start();
    if (body !== undefined && body !== "") {
      exchange.requestBody(Buffer.from(body));
      exchange.requestEnded(undefined);
    }
    return await client.answer;
  } finally {
    timer.cancel();
  }
}

/** Collects the response, up to a maximum size. */
class CollectingClient implements ClientSide {
  exchange: ExchangeInput | undefined;
  readonly #maxBytes: number;
  readonly #settled = Promise.withResolvers<CallAnswer>();
  #head: Pick<CallAnswer, "status" | "headers"> | undefined;
  readonly #body = new GatheredBytes();
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get answer(): Promise<CallAnswer> {
    return this.#settled.promise;
  }

  /** Rejects the call, because its caller has stopped waiting. */
  giveUp(why: Error): void {
    this.#body.clear();
    this.#settled.reject(why);
    this.exchange?.clientGone();
  }

  sendInterim(): void {}

  sendHead(status: number, _reason: string | undefined, fields: FieldTable): void {
    const headers = Object.create(null) as Record<string, string[]>;
    for (const [name, value] of fields.entries()) (headers[name.toLowerCase()] ??= []).push(value);
    this.#head = { status, headers };
  }

  sendBody(bytes: Buffer): boolean {
    this.#length += bytes.length;
    if (this.#length <= this.#maxBytes) this.#body.add(bytes);
    // Deferred, because the exchange must not be cut while it is sending.
    else
      queueMicrotask(
        makeContained(
          "exchange",
          () => this.giveUp(new AnswerTooLong()),
          () => this.abort(),
        ),
      );
    return this.#length <= this.#maxBytes;
  }

  sendEnd(): void {
    if (!this.#head || this.#length > this.#maxBytes) return;
    this.#settled.resolve({ ...this.#head, body: this.#body.join(), address: "" });
  }

  abort(): void {
    this.#settled.reject(new Error("the answer was cut short"));
  }

  destroy(): void {
    this.abort();
  }

  requestConsumed(): void {}
}
