import { emptyFields } from "../../http1/field-table.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Converter } from "../../traffic/module.ts";
import { skipped } from "../../traffic/step.ts";
import type { Answer } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { ServingTunnel } from "../../routing/planes/questions.ts";
import type { CompiledRoute } from "../../routing/sites/compiled.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ClientSide } from "./client-side.ts";
import { ConvertedClient } from "./converted-client.ts";
import type { ConvertedExchange } from "./converted-client.ts";
import { dialFailure, dialFailureReason } from "./dial-failure.ts";
import { stripResponse } from "./forwarding.ts";
import type { ForwardedBefore } from "./forwarding.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { Moment } from "../../lib/moments.ts";
import type { RequestBody } from "./request-body.ts";
import { sendRequest } from "./send-request.ts";
import type { UpstreamConnection } from "../upstreams/upstream-connection.ts";
import type { UpstreamUser } from "../upstreams/upstream-user.ts";
import { judgesHeads } from "./unjudged-heads.ts";
import { UpstreamPool } from "../upstreams/upstream-pool.ts";

/** Pools that one request is sent to at most, when streams to them cannot be opened. */
const maxTries = 8;
/** Methods that may be sent again when what came of a request is not known (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const noPools: readonly UpstreamPool[] = [];
const didNotAnswer = "the upstream did not answer the request";

/** The exchange, as its upstream side sees it. */
export interface ForwardedExchange extends Exchange, ConvertedExchange {
  readonly isOver: boolean;
  readonly request: ReceivedRequest;
  readonly shared: ClientConnection;
  /** Of the response head that was sent to the client; 0 before. */
  readonly status: number;
  readonly requestId: TrafficId;
  /** When the request came. */
  readonly arrival: Moment;
  /** For whoever asks later where the time went. */
  waitedMs: number | undefined;
  /** For whoever asks later who served it. */
  tunnel: ServingTunnel | undefined;
  /** Drops what would set a cookie of a login of the site. */
  guardLogins(fields: FieldTable): void;
  /** The final response head; 101 turns both directions into raw bytes. `bodyLength` -1: only the end will tell. */
  responseHead(head: ResponseRead, bodyLength: number): void;
  /** False: hold on until `creditUpstream`. */
  responseBody(bytes: Buffer): boolean;
  responseEnd(trailers: FieldTable | undefined): void;
  /** The client's end of a converter is joined to the upstream's. */
  converted(fields: FieldTable): void;
  answer(answer: Answer): void;
  refuse(reason: RefusalName, why: string, detail?: string): void;
  /** Ends the exchange: one of its modules has thrown. */
  moduleFailed(error: unknown): void;
  /** Ends the exchange, whatever it is at: code that acted on it threw. */
  broke(error: unknown): void;
  /** A module has thrown where that changes nothing for the exchange. */
  hookFailed(error: unknown): void;
}

/**
 * What an exchange has upstream: chooses where its request goes, sends it there, tries elsewhere while nothing was
 * lost, and hands back what is answered. Told by it of everything that its client sends in the meantime.
 */
export class UpstreamSide implements UpstreamUser {
  readonly exchange: ForwardedExchange;
  /** The connection had carried a request before. */
  isWarm = false;
  readonly #client: ClientSide;
  readonly #body: RequestBody;
  readonly #route: CompiledRoute;
  readonly #plan: UpstreamPlan;
  readonly #before: ForwardedBefore;
  #pool: UpstreamPool | undefined;
  #tried: UpstreamPool[] | undefined;
  #lastFailure: RefusalName | undefined;
  #connection: UpstreamConnection | undefined;
  #converted: ConvertedClient | undefined;
  /** The request was sent before, and lost. */
  #isRepeat = false;
  /** Bytes of the request's body have gone on. */
  #bodyBegun = false;
  /** When the request was sent on, see `Clock.monotonic`. */
  #sentAt = 0;
  #isSettled = false;
  /** Response bytes that the upstream is not credited for until the client has room. */
  #owed = 0;

  constructor(
    exchange: ForwardedExchange,
    client: ClientSide,
    body: RequestBody,
    route: CompiledRoute,
    plan: UpstreamPlan,
    before: ForwardedBefore,
  ) {
    this.exchange = exchange;
    this.#client = client;
    this.#body = body;
    this.#route = route;
    this.#plan = plan;
    this.#before = before;
  }

  /** Somebody takes the request's body as it comes. */
  get takesBody(): boolean {
    return this.#connection !== undefined || this.#converted !== undefined;
  }

  /** What it took to open the connection for this request, while there is one. */
  get dialDurationMs(): number | undefined {
    return this.isWarm ? 0 : this.#connection?.dialDurationMs;
  }

  choose(): void {
    const { exchange } = this;
    const { upstreams } = exchange.shared.context;
    let chosen: UpstreamPool | Answer;
    try {
      chosen = upstreams.choose(this.#plan, exchange, this.#tried ?? noPools, this.#route.converter !== undefined);
    } catch (error) {
      exchange.moduleFailed(error);
      return;
    }
    if (chosen instanceof UpstreamPool) {
      this.#pool = chosen;
      chosen.request(this);
    } else if ("error" in chosen) {
      const why = this.#isRepeat ? didNotAnswer : "no other backend can serve the request";
      this.#refuse(this.#lastFailure ?? chosen.error, why);
    } else {
      this.#settle(chosen.status);
      exchange.answer(chosen);
    }
  }

  // What the client sends.

  /** While `takesBody`. */
  sendBody(bytes: Buffer): void {
    const { length } = bytes;
    this.#bodyBegun = true;
    if (this.#converted !== undefined) this.#converted.receiver.data(bytes);
    else if (this.#connection?.sendBody(bytes) === true) this.#client.requestConsumed(length);
    else this.#body.owe(length);
  }

  bodyEnded(): void {
    this.#connection?.endBody(this.#body.trailers);
    this.#converted?.receiver.ended();
  }

  clientDrained(): void {
    if (this.#converted !== undefined) this.#converted.receiver.drained();
    else this.creditUpstream();
  }

  /** After `release`. */
  clientGone(): void {
    if (this.#pool !== undefined) this.#settle(undefined);
    this.cutConverter();
  }

  creditUpstream(): void {
    const owed = this.#owed;
    if (owed === 0) return;
    this.#owed = 0;
    this.#connection?.consumed(owed);
  }

  /** The exchange was cut: the converter has nobody left to read for. After the exchange is over. */
  cutConverter(): void {
    const converted = this.#converted;
    this.#converted = undefined;
    converted?.receiver.closed(undefined);
  }

  /** Both directions of the upgraded exchange have ended. */
  letGo(): void {
    this.#connection?.letGo();
    this.#connection = undefined;
  }

  /** Cuts the upstream off, wherever the request is. */
  release(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) this.#pool?.withdraw(this);
    else connection.abort();
  }

  // UpstreamUser.

  upstreamReady(connection: UpstreamConnection, warm: boolean): void {
    const { exchange } = this;
    if (exchange.isOver) {
      connection.abort();
      return;
    }
    exchange.tunnel = this.#pool?.options.tunnel;
    const { converter } = this.#route;
    if (converter !== undefined) {
      this.#convert(converter, connection);
      return;
    }
    this.#connection = connection;
    this.isWarm = warm;
    if (this.#isRepeat) exchange.shared.context.counters.repeated += 1;
    if (this.#body.size > 0) this.#bodyBegun = true;
    this.#sentAt = this.#monotonic();
    const forwarded = exchange.shared.forwarded(exchange.request, this.#before);
    if (sendRequest(connection, this, exchange.request, forwarded, exchange.requestId, this.#body)) this.#body.credit();
  }

  upstreamInterim(status: number, fields: FieldTable): void {
    if (status === 100) {
      this.#body.sendContinue();
      return;
    }
    if (judgesHeads(this.#route.response)) return;
    stripResponse(fields);
    fields.delete("content-length");
    this.exchange.guardLogins(fields);
    this.#client.sendInterim(status, fields);
  }

  upstreamHead(head: ResponseRead, bodyLength: number): void {
    const { exchange } = this;
    const waitMs = this.#monotonic() - this.#sentAt;
    exchange.waitedMs = waitMs;
    const timed = this.#pool?.options.timed;
    if (timed !== undefined) timed(exchange.id, { edgeMs: this.#sentAt - exchange.arrival.monotonic, waitMs });
    if (head.status === 502 && this.#pool?.options.isAgent === true && dialFailure(head)) {
      const connection = this.#connection;
      this.#connection = undefined;
      connection?.abort();
      this.#tryAnother("agent_dial_failed", exchange.request.bodyLength === 0, dialFailureReason(head));
      return;
    }
    this.#settle(head.status);
    stripResponse(head.fields);
    if (head.status === 204) head.fields.delete("content-length");
    exchange.responseHead(head, bodyLength);
  }

  upstreamBody(bytes: Buffer): void {
    const { length } = bytes;
    if (this.exchange.responseBody(bytes)) this.#connection?.consumed(length);
    else this.#owed += length;
  }

  upstreamEnd(trailers: FieldTable | undefined): void {
    const { exchange } = this;
    if (exchange.status === 101) {
      exchange.upgradedEnd();
      return;
    }
    // The connection goes to the next request with its window whole, though the client may still be reading.
    this.creditUpstream();
    this.#connection = undefined;
    exchange.responseEnd(trailers);
  }

  upstreamFailed(reason: RefusalName, unused: boolean, why?: string): void {
    const { exchange } = this;
    const connection = this.#connection;
    this.#connection = undefined;
    if (exchange.isOver) return;
    if (exchange.status !== 0) {
      exchange.cut();
      return;
    }
    if (connection === undefined || unused) {
      this.#tryAnother(reason, unused, why);
      return;
    }
    if (this.#mayRepeat(reason, connection)) this.#repeat(reason);
    else this.#refuse(reason, why ?? didNotAnswer, why);
  }

  upstreamDrained(): void {
    this.#body.credit();
  }

  get responseTimeoutMs(): number | undefined {
    return this.#route.responseTimeoutMs;
  }

  upstreamBroke(error: unknown): void {
    this.#connection = undefined;
    this.exchange.broke(error);
  }

  get isRepeatable(): boolean {
    const { method, upgrade, bodyLength } = this.exchange.request;
    return bodyLength === 0 && isHarmlessTwice(method, upgrade);
  }

  /** Once, and only where nobody can tell that it was sent twice: a timeout says that somebody is at it. */
  #mayRepeat(reason: RefusalName, { answered }: UpstreamConnection): boolean {
    const { method, upgrade } = this.exchange.request;
    return (
      !this.#isRepeat &&
      !answered &&
      !this.#bodyBegun &&
      (reason === "upstream_refused" || reason === "tunnel_gone") &&
      isHarmlessTwice(method, upgrade)
    );
  }

  /** A warm stream may have been closed for being idle: a fresh one to the same place is as good as another place. */
  #repeat(reason: RefusalName): void {
    this.#isRepeat = true;
    const { exchange } = this;
    const why = `connection lost before the response (${reason}); a ${exchange.request.method} request can be sent again`;
    if (this.isWarm && reason === "upstream_refused") {
      exchange.steps.push(skipped("backend", why));
      this.#pool?.request(this, true);
    } else this.#tryAnother(reason, true, why);
  }

  /** Goes on to the next choice when the request can still be sent whole, else answers. */
  #tryAnother(reason: RefusalName, untouched: boolean, why?: string): void {
    this.#lastFailure = reason;
    const tried = (this.#tried ??= []);
    if (this.#pool !== undefined) tried.push(this.#pool);
    this.#pool = undefined;
    if (untouched && tried.length < maxTries) {
      this.exchange.steps.push(skipped("backend", why ?? `no stream could be opened: ${reason}`));
      this.choose();
      return;
    }
    this.#refuse(reason, why ?? "the upstream could not be reached", untouched ? undefined : why);
  }

  /** @param detail for the client: what was wrong, or which limit was exceeded */
  #refuse(reason: RefusalName, why: string, detail?: string): void {
    this.#settle(undefined);
    this.exchange.refuse(reason, why, detail);
  }

  /** Hands the client and the upstream's stream to the converter, as streams of bytes. */
  #convert(converter: Converter, connection: UpstreamConnection): void {
    const { exchange } = this;
    this.#pool = undefined;
    const upstream = connection.raw();
    const client = new ConvertedClient(exchange, this.#client);
    const fields = emptyFields();
    try {
      const accepted = converter.accept(exchange);
      for (const name in accepted) fields.append(name, accepted[name] as string);
      converter.join(client, upstream);
    } catch (error) {
      upstream.abort();
      exchange.moduleFailed(error);
      return;
    }
    this.#converted = client;
    this.#settle(101);
    exchange.converted(fields);
  }

  /** To the microsecond where somebody is told of it. */
  #monotonic(): number {
    const { clock, moments } = this.exchange.shared.context;
    return this.#pool?.options.timed === undefined ? moments.present.monotonic : clock.monotonic();
  }

  /** Tells the modules how the upstream did, once. */
  #settle(upstreamStatus: number | undefined): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { exchange } = this;
    for (const hook of this.#route.settled) {
      try {
        hook.settled?.(exchange, upstreamStatus);
      } catch (error) {
        exchange.hookFailed(error);
      }
    }
  }
}

/** Once its body has gone on, there is none to send again. */
function isHarmlessTwice(method: string, upgrade: string): boolean {
  return upgrade === "" && idempotent.has(method);
}
