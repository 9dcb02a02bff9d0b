import { emptyFields } from "../../http1/field-table.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Converter } from "../../traffic/module.ts";
import { skipStep } from "../../traffic/step.ts";
import type { Answer } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";
import type { CompiledRoute } from "../../routing/sites/compiled-site.ts";
import type { ClientConnection } from "./visitor-connection.ts";
import type { ClientSide } from "./client-side.ts";
import { ConvertedClient } from "./converted-client.ts";
import type { ConvertedExchange } from "./converted-client.ts";
import { dialFailure, dialFailureReason } from "./dial-failure.ts";
import type { ExchangeTrace } from "./exchange-trace.ts";
import { stripResponse } from "./forwarded-fields.ts";
import type { ForwardedBefore } from "./forwarded-fields.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { Moment } from "../../lib/moments.ts";
import type { RequestBody } from "./request-body.ts";
import { sendRequest } from "./send-request.ts";
import type { UpstreamConnection } from "../upstreams/upstream-connection.ts";
import type { UpstreamUser } from "../upstreams/upstream-user.ts";
import { judgesHeads } from "./unjudged-heads.ts";
import { UpstreamPool } from "../upstreams/upstream-pool.ts";

/** Maximum number of pools that one request tries if streams cannot be opened. */
const maxTries = 8;
/** Methods that may be retried if the outcome of a request is unknown (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const noPools: readonly UpstreamPool[] = [];
const didNotAnswer = "the upstream did not answer the request";

/** Interface of the exchange for its upstream side. */
export interface ForwardedExchange extends Exchange, ConvertedExchange {
  readonly isOver: boolean;
  readonly request: ReceivedRequest;
  readonly shared: ClientConnection;
  /** Status of the response head that was sent to the client. 0 before. */
  readonly status: number;
  readonly requestId: TrafficId;
  /** Time at which the request arrived. */
  readonly arrival: Moment;
  /** Waiting time, for the event of the request. */
  waitedMs: number | undefined;
  trace: ExchangeTrace | undefined;
  chosenAt: number | undefined;
  sentAt: number | undefined;
  /** Tunnel that served the request, for its event. */
  tunnel: ServingTunnel | undefined;
  /** Removes fields that would set a cookie of one of the site's logins. */
  guardLogins(fields: FieldTable): void;
  /**
   * Called with the final response head. 101 turns both directions into raw bytes. A `bodyLength` of -1 means unknown.
   */
  responseHead(head: ResponseRead, bodyLength: number): void;
  /** Returns false if the upstream must wait for `creditUpstream`. */
  responseBody(bytes: Buffer): boolean;
  responseEnd(trailers: FieldTable | undefined): void;
  /** Ends a response that has begun, because the tunnel that sent it has ended. */
  lostTunnel(): void;
  /** Called when the converter connects the client's end to the upstream's. */
  converted(fields: FieldTable): void;
  answer(answer: Answer): void;
  refuse(reason: RefusalName, why: string, detail?: string): void;
  /** Ends the exchange, because one of its modules has thrown. */
  moduleFailed(error: unknown): void;
  /** Ends the exchange in any state, because code that processed it threw. */
  broke(error: unknown): void;
  /** Reports a module's error that does not affect the exchange. */
  hookFailed(error: unknown): void;
}

/**
 * Upstream side of an exchange. Chooses the upstream, sends the request, retries elsewhere while no bytes are lost, and
 * returns the response. The exchange passes on the client's input meanwhile.
 */
export class UpstreamSide implements UpstreamUser {
  readonly exchange: ForwardedExchange;
  /** Whether the connection had carried a request before. */
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
  /** Whether the request was sent before and lost. */
  #isRepeat = false;
  /** Whether bytes of the request's body were forwarded. */
  #bodyBegun = false;
  /** Time at which the request was forwarded, see `Clock.monotonic`. */
  #sentAt = 0;
  #isSettled = false;
  /** Response bytes without credit for the upstream until the client has room. */
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

  /** Whether a receiver takes the request's body as it arrives. */
  get takesBody(): boolean {
    return this.#connection !== undefined || this.#converted !== undefined;
  }

  /** Time to open the connection for this request, while there is one, milliseconds. */
  get dialDurationMs(): number | undefined {
    return this.isWarm ? 0 : this.#connection?.dialDurationMs;
  }

  choose(): void {
    const { exchange } = this;
    const { upstreams, tracing, moments } = exchange.shared.context;
    if (tracing !== undefined) exchange.chosenAt ??= moments.present.monotonic;
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

  // Input from the client.

  /** Call only while `takesBody` is true. */
  sendBody(bytes: Buffer): void {
    const { length } = bytes;
    this.#bodyBegun = true;
    this.#body.lent(bytes);
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

  /** Call it after `release`. */
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

  /** Cuts the converter, because its client's exchange was cut. Call it after the exchange is over. */
  cutConverter(): void {
    const converted = this.#converted;
    this.#converted = undefined;
    converted?.receiver.closed(undefined);
  }

  /** Releases the upstream, because both directions of the upgraded exchange have ended. */
  letGo(): void {
    this.#connection?.letGo();
    this.#connection = undefined;
  }

  /** Cuts off the upstream in any state of the request. */
  release(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) this.#pool?.withdraw(this);
    else connection.abort();
  }

  // Implementation of UpstreamUser.

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
    const line = exchange.shared.context.tracing?.forward(exchange, this.#sentAt);
    const forwarded = exchange.shared.forwarded(exchange.request, this.#before);
    const hasRoom = sendRequest(connection, this, exchange.request, forwarded, exchange.requestId, this.#body, line);
    if (hasRoom) this.#body.credit();
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
    if (timed !== undefined) {
      const { addresses, source } = exchange.connection;
      const edgeMs = this.#sentAt - exchange.arrival.monotonic;
      timed(exchange.id, { edgeMs, waitMs, country: addresses?.known(source)?.countryCode });
    }
    if (head.status === 502 && this.#pool?.options.isAgent === true && dialFailure(head)) {
      const connection = this.#connection;
      this.#connection = undefined;
      connection?.abort();
      this.#tryAnother("agent_dial_failed", this.#rewind(), dialFailureReason(head));
      return;
    }
    this.#body.release();
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
    // The connection serves the next request with a full window, even while the client is still reading.
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
      if (reason === "tunnel_gone") exchange.lostTunnel();
      else exchange.cut();
      return;
    }
    if (connection === undefined) {
      this.#tryAnother(reason, unused, why);
      return;
    }
    if (unused && this.#rewind()) {
      this.#sendElsewhere(reason, why ?? didNotAnswer);
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

  /**
   * Whether the request may be retried: once, if it is idempotent and unanswered. After a timeout, a server may be
   * processing it.
   */
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

  /** An idle warm stream may have been closed. A new stream to the same upstream is as good as another upstream. */
  #repeat(reason: RefusalName): void {
    this.#isRepeat = true;
    const { method } = this.exchange.request;
    this.#sendElsewhere(
      reason,
      `connection lost before the response (${reason}); a ${method} request can be sent again`,
    );
  }

  #sendElsewhere(reason: RefusalName, why: string): void {
    if (this.isWarm && reason === "upstream_refused") {
      this.exchange.steps.push(skipStep("backend", why));
      this.#pool?.request(this, true);
    } else this.#tryAnother(reason, true, why);
  }

  /** Makes the whole request available again. Returns false if forwarded bytes of its body were released. */
  #rewind(): boolean {
    if (!this.#bodyBegun) return true;
    if (!this.#body.restore()) return false;
    this.#bodyBegun = false;
    return true;
  }

  /** Tries the next upstream if the whole request can still be sent. Otherwise answers. */
  #tryAnother(reason: RefusalName, untouched: boolean, why?: string): void {
    this.#lastFailure = reason;
    const tried = (this.#tried ??= []);
    if (this.#pool !== undefined) tried.push(this.#pool);
    this.#pool = undefined;
    if (untouched && tried.length < maxTries) {
      this.exchange.steps.push(skipStep("backend", why ?? `no stream could be opened: ${reason}`));
      this.choose();
      return;
    }
    this.#refuse(reason, why ?? "the upstream could not be reached", untouched ? undefined : why);
  }

  /** @param detail for the client: the error or the exceeded limit */
  #refuse(reason: RefusalName, why: string, detail?: string): void {
    this.#settle(undefined);
    this.exchange.refuse(reason, why, detail);
  }

  /** Passes the client's and the upstream's streams to the converter as byte streams. */
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

  /** Uses microseconds if the time is reported. */
  #monotonic(): number {
    const { clock, moments } = this.exchange.shared.context;
    return this.#pool?.options.timed === undefined ? moments.present.monotonic : clock.monotonic();
  }

  /** Reports the upstream's result to the modules. Later calls have no effect. */
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

/** Whether the request is idempotent. Callers also check the body, because a forwarded body cannot be sent again. */
function isHarmlessTwice(method: string, upgrade: string): boolean {
  return upgrade === "" && idempotent.has(method);
}
