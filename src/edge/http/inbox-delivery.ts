/**
 * Delivers stored webhooks. A delivery is an exchange whose client is the edge itself. It continues after the route's
 * inbox, so that the gates before it do not decide again.
 */
import type { RefusalName } from "../../lib/errors.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { codeOf } from "../../routing/planes/edge-questions.ts";
import type { CompiledRoute, RoutingTable, Site } from "../../routing/sites/compiled-site.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { InboxDelivery, InboxResult, StoredRequest } from "../../traffic/stored-request.ts";
import { checkHead } from "./check-head.ts";
import { ClientConnection } from "./visitor-connection.ts";
import type { ClientSide, ExchangeInput } from "./client-side.ts";
import type { HttpContext } from "./http-context.ts";
import { receiveDescribed } from "./described-request.ts";
import { HttpExchange } from "./http-exchange.ts";

export type DeliverFromInbox = (delivery: InboxDelivery, body: Uint8Array) => Promise<InboxResult>;

/** Refusals that mean that no agent got the request, if none is named. */
const noAgent: ReadonlySet<RefusalName> = new Set(["backend_empty", "tunnel_gone"]);
/** Longest pause that a service may ask for, milliseconds. */
const maxRetryAfterMs = 7 * 86_400_000;

export function makeInboxDeliveries(table: Pick<RoutingTable, "placeOfRoute">, shared: HttpContext): DeliverFromInbox {
  // The edge knows the source of the request, so it trusts no X-Forwarded-For.
  const context: HttpContext = { ...shared, trustsProxy: undefined };
  return async (delivery, given) => {
    const placed = table.placeOfRoute(delivery.routeId);
    const start = placed?.route.request.findIndex(({ inbox }) => inbox !== undefined) ?? -1;
    if (placed === undefined || start < 0) return resultAway("the route has no inbox");
    if (placed.route.problem !== undefined || placed.site.problem !== undefined) {
      return resultAway("the route has a problem");
    }
    const { request, body } = signRequest(delivery.request, asBuffer(given), placed.route, context.clock.now());
    const received = receiveDelivery({ ...delivery, request }, body.length, context);
    if (typeof received === "string") return { error: received, durationMs: 0 };
    const facts = {
      source: request.source,
      sourcePort: request.sourcePort,
      local: {},
      localPort: request.localPort,
      startedAt: context.clock.now(),
      addresses: context.addresses,
      tls: undefined,
    };
    const connection = new ClientConnection(facts, () => placed.site, context, request.scheme);
    const client = new DeliveringClient();
    const exchange = new DeliveryExchange(connection, client, received, placed.site, placed.route, start + 1);
    client.exchange = exchange;
    connection.carrier = client;
    let isLate = false;
    const timer = context.clock.after(delivery.timeoutMs, () => {
      isLate = true;
      client.giveUp();
    });
    exchange.start();
    if (body.length > 0) {
      exchange.requestBody(body);
      exchange.requestEnded(undefined);
    }
    await client.ended;
    timer.cancel();
    return resultOf(exchange, client, isLate ? delivery.timeoutMs : undefined);
  };
}

function resultAway(error: string): InboxResult {
  return { error, isAway: true, durationMs: 0 };
}

function resultOf(exchange: DeliveryExchange, client: DeliveringClient, timeoutMs: number | undefined): InboxResult {
  const { durationMs } = exchange;
  if (timeoutMs !== undefined) return { error: `no complete answer within ${timeoutMs / 1000} s`, durationMs };
  const answer = exchange.steps.findLast((step) => step.answer !== undefined)?.answer;
  if (answer !== undefined && "error" in answer) {
    const isAway = answer.error === "agent_dial_failed" || (noAgent.has(answer.error) && exchange.tunnel === undefined);
    return { error: codeOf(answer), durationMs, ...(isAway && { isAway: true }) };
  }
  if (client.wasCut || client.status === 0) return { error: "the answer was cut short", durationMs };
  return { status: client.status, retryAfterMs: client.retryAfterMs(exchange.receivedAt), durationMs };
}

function receiveDelivery({ id, attempt, request }: InboxDelivery, length: number, { limits }: HttpContext) {
  const has = (name: string): boolean => request.headers.some(([one]) => one.toLowerCase() === name);
  const own: HeaderPairs = [
    ["postern-inbox-id", id],
    ["postern-inbox-attempt", String(attempt)],
    ...(has("idempotency-key") ? [] : [["idempotency-key", id] as const]),
  ];
  const replaced = new Set(["content-length", "expect"]);
  const headers: HeaderPairs = [
    ...request.headers.filter(([name]) => !replaced.has(name.toLowerCase())),
    ["content-length", String(length)],
    ...own,
  ];
  const { method, target, host, scheme } = request;
  const received = receiveDescribed({ method, target, host, headers, body: "", scheme }, limits);
  if (typeof received === "string") return `the stored request cannot be sent: ${received}`;
  if (checkHead(received, Infinity) !== undefined) return "the stored request cannot be sent: its head is invalid";
  received.rewritten = request.rewritten;
  return received;
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

const originalPrefix = "postern-original-";

/** Returns the request with a signature of now, if the route's inbox wants that and the route can sign. */
function signRequest(
  request: StoredRequest,
  body: Buffer,
  route: CompiledRoute,
  now: number,
): { readonly request: StoredRequest; readonly body: Buffer } {
  const resigns = route.request.some(({ inbox }) => inbox?.resigns === true);
  const signer = resigns ? route.request.find(({ signsAnew }) => signsAnew !== undefined) : undefined;
  if (signer?.signsAnew === undefined) return { request, body };
  const { method, target, scheme, host, headers } = request;
  const getAll = (name: string): string[] =>
    headers.flatMap(([one, value]) => (one.toLowerCase() === name ? [value] : []));
  const url = `${scheme}://${getAll("host")[0] ?? host}${target}`;
  const anew = signer.signsAnew({ method, url, headers: { getAll }, body }, now);
  if (anew === undefined) return { request, body };
  const fields = new Map(Object.entries(anew.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const originals = headers.filter(([name, value]) => (fields.get(name.toLowerCase()) ?? value) !== value);
  const kept = headers.filter(([name]) => !fields.has(name.toLowerCase()));
  return {
    request: {
      ...request,
      headers: [
        ...kept,
        ...fields,
        ...originals.map(([name, value]) => [originalPrefix + name.toLowerCase(), value] as const),
      ],
    },
    body: anew.body ?? body,
  };
}

class DeliveryExchange extends HttpExchange {
  readonly #site: Site;
  readonly #route: CompiledRoute;
  readonly #at: number;

  constructor(
    shared: ClientConnection,
    client: ClientSide,
    request: ConstructorParameters<typeof HttpExchange>[2],
    site: Site,
    route: CompiledRoute,
    at: number,
  ) {
    super(shared, client, request);
    this.#site = site;
    this.#route = route;
    this.#at = at;
  }

  override start(): void {
    this.resume(this.#site, this.#route, this.#at);
  }
}

/** Reads the response's head and drops its body. */
class DeliveringClient implements ClientSide {
  exchange: ExchangeInput | undefined;
  status = 0;
  wasCut = false;
  #retryAfter: string | undefined;
  readonly #ended = Promise.withResolvers<void>();

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Returns the pause that the service asks for (RFC 9110 §10.2.3). */
  retryAfterMs(now: number): number | undefined {
    const text = this.#retryAfter?.trim() ?? "";
    const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
    return Number.isFinite(ms) && ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
  }

  giveUp(): void {
    this.exchange?.clientGone();
    this.abort();
  }

  sendInterim(): void {}

  sendHead(status: number, _reason: string | undefined, fields: FieldTable): void {
    this.status = status;
    this.#retryAfter = fields.get("retry-after");
  }

  sendBody(): boolean {
    return true;
  }

  sendEnd(): void {
    this.#ended.resolve();
  }

  abort(): void {
    this.wasCut = true;
    this.#ended.resolve();
  }

  destroy(): void {
    this.abort();
  }

  requestConsumed(): void {}
}
