import type { FieldTable } from "../../http1/field-table.ts";
import { emptyFields } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import { putBytes, reserve, slab } from "../../http1/slab.ts";
import type { ByteReceiver, ByteStream } from "../../lib/byte-stream.ts";
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { ConnectionFacts, Exchange, ResponseHead } from "../../modules/exchange.ts";
import type { CompiledModule, Converter } from "../../modules/module.ts";
import { skipped } from "../../modules/step.ts";
import type { Answer, Step } from "../../modules/step.ts";
import type { CompiledRoute, Site } from "../../routing/compiled.ts";
import { moduleFailed, noBackend, refused, unknownHost, unroutable } from "../../routing/refusals.ts";
import { isBodiless, renderAnswer } from "./answer.ts";
import type { RenderedAnswer } from "./answer.ts";
import { challengeAnswer } from "./challenge-answer.ts";
import { checkHead } from "./check-head.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ClientSide, ExchangeInput } from "./client-side.ts";
import type { FinishedExchange, HttpContext } from "./context.ts";
import { dialFailure } from "./dial-failure.ts";
import { requestHeadBytes, stripRequest, stripResponse, writeRequestHead } from "./forwarding.ts";
import type { ForwardedBefore } from "./forwarding.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { RequestBody } from "./request-body.ts";
import { newRequestId } from "./request-id.ts";
import { ModuleResponse } from "./response-stages.ts";
import type { StagesOutput } from "./response-stages.ts";
import type { UpstreamConnection, UpstreamUser } from "./upstream-connection.ts";
import { UpstreamPool } from "./upstream-pool.ts";

/** A body in hand up to this size is written together with the head. */
const joinBytes = 16 * 1024;
/** Pools that one request is sent to at most, when streams to them cannot be opened. */
const maxTries = 8;
/** Methods that may be sent again after a connection broke (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const noPools: readonly UpstreamPool[] = [];

/**
 * One request and its response: decided by the route's modules, sent upstream, and streamed back. The same for
 * every protocol in front (`ClientSide`). Nothing is buffered beyond what backpressure leaves under way:
 * what one side has not taken is not credited to the other.
 */
export class HttpExchange implements Exchange, ExchangeInput, UpstreamUser, StagesOutput, FinishedExchange {
  readonly id: string;
  readonly request: ReceivedRequest;
  readonly steps: Step[] = [];
  abandoned = false;
  status = 0;
  bytesIn = 0;
  bytesOut = 0;
  cutShort = false;
  readonly #shared: ClientConnection;
  readonly #client: ClientSide;
  readonly #startedAt: number;
  #site: Site | undefined;
  #route: CompiledRoute | undefined;
  #before: ForwardedBefore | undefined;
  #done = false;
  #bodyEnded: boolean;
  #body: RequestBody | undefined;
  #trailers: FieldTable | undefined;
  #continueSent = false;
  #response: ModuleResponse | undefined;
  #pool: UpstreamPool | undefined;
  #tried: UpstreamPool[] | undefined;
  #lastFailure: RefusalName | undefined;
  #connection: UpstreamConnection | undefined;
  #warm = false;
  #retried = false;
  #settled = false;
  #upgraded = false;
  #upstreamEnded = false;
  /** The client's end of a converter, which then has the upstream's too. */
  #converted: ByteReceiver | undefined;
  /** Credit held back until the other side has room. */
  #owedToClient = 0;
  #owedToUpstream = 0;

  constructor(shared: ClientConnection, client: ClientSide, request: ReceivedRequest) {
    const { context } = shared;
    this.#shared = shared;
    this.#client = client;
    this.request = request;
    this.id = newRequestId(context.clock.now());
    this.#startedAt = context.finished === undefined ? 0 : context.clock.monotonic();
    this.#bodyEnded = request.bodyLength === 0;
    context.counters.openExchanges += 1;
  }

  get exchange(): Exchange {
    return this;
  }

  get connection(): ConnectionFacts {
    return this.#shared.facts;
  }

  get response(): ResponseHead | undefined {
    return this.#response;
  }

  get connectionReused(): boolean | undefined {
    return this.#response === undefined ? undefined : this.#warm;
  }

  get method(): string {
    return this.request.method;
  }

  get host(): string {
    return this.request.host;
  }

  get path(): string {
    return this.request.path;
  }

  get source(): string {
    return this.#shared.facts.source;
  }

  get accountId(): string | undefined {
    return this.#site?.accountId;
  }

  get siteId(): string | undefined {
    return this.#site?.id;
  }

  get routeId(): string | undefined {
    return this.#route?.id;
  }

  get durationMs(): number {
    return this.#context.clock.monotonic() - this.#startedAt;
  }

  get #context(): HttpContext {
    return this.#shared.context;
  }

  body(maxBytes: number): Promise<Buffer> {
    if (this.#connection !== undefined) return Promise.reject(new Error("read a request body: it is being forwarded"));
    if (this.request.bodyLength === 0) return Promise.resolve(noBytes);
    if (this.request.bodyLength > maxBytes) return Promise.reject(new Refusal("payload_too_large"));
    const body = (this.#body ??= new RequestBody());
    const whole = body.collect(maxBytes);
    if (this.request.expectsContinue && !this.#continueSent && !this.#bodyEnded) {
      this.#continueSent = true;
      this.#client.sendInterim(100, undefined);
    }
    this.#creditClient();
    return whole;
  }

  // Decisions, in order.

  /** Body bytes that are in hand may be given before. */
  start(): void {
    if (this.#done) return;
    const { request } = this;
    const { host, headers } = request;
    const site = this.#shared.site(host, request.port);
    // Whose request it is, whatever is wrong with it.
    if (typeof site !== "string") this.#site = site;
    const wrong = checkHead(request, this.#context.limits.maxBodyBytes);
    if (wrong !== undefined) return this.#deny(wrong);
    const { path } = request;
    const challenge = this.#context.challengeBody?.(host, path);
    if (challenge !== undefined) return this.#deny(challengeAnswer(challenge));
    if (site === "unknown_host") return this.#deny(unknownHost(host));
    if (typeof site === "string") return this.#refuse(site, `host "${host}" is not what the connection was opened for`);
    const route = site.problem === undefined ? site.findRoute(path) : undefined;
    this.#route = route;
    if (route !== undefined) this.steps.push(route.matched);
    if (route === undefined || route.problem !== undefined) return this.#deny(unroutable(site, route, path) as Step);
    this.#before = stripRequest(headers, this.#shared.trusted);
    this.#decide(0);
  }

  /** Runs the request hooks from `index` on, then sends the request. A hook that throws ends it (security R6). */
  #decide(index: number): void {
    const hooks = (this.#route as CompiledRoute).request;
    for (let at = index; at < hooks.length; at += 1) {
      let step: Step | Promise<Step>;
      try {
        step = (hooks[at] as RequestModule).request(this);
      } catch (error) {
        return this.#moduleFailed(error);
      }
      if (step instanceof Promise) {
        step.then(
          (decided) => {
            if (!this.#done && this.#take(decided)) this.#decide(at + 1);
          },
          (error: unknown) => this.#moduleFailed(error),
        );
        return;
      }
      if (!this.#take(step)) return;
    }
    const plan = (this.#route as CompiledRoute).upstream;
    if (plan === undefined) this.#deny(noBackend);
    else this.#choose();
  }

  /** Records a step; false when it ended the exchange. */
  #take(step: Step): boolean {
    this.steps.push(step);
    if (step.answer === undefined) return true;
    this.#answer(step.answer);
    return false;
  }

  #choose(): void {
    const { upstream: plan, converter } = this.#route as CompiledRoute;
    if (plan === undefined) return;
    let chosen: UpstreamPool | Answer;
    try {
      chosen = this.#context.upstreams.choose(plan, this, this.#tried ?? noPools, converter !== undefined);
    } catch (error) {
      return this.#moduleFailed(error);
    }
    if (chosen instanceof UpstreamPool) {
      this.#pool = chosen;
      chosen.request(this);
      return;
    }
    if (!("error" in chosen)) {
      this.#settle(chosen.status);
      this.#answer(chosen);
      return;
    }
    this.#settle(undefined);
    this.#refuse(this.#lastFailure ?? chosen.error, "no backend is left to send the request to");
  }

  // The upstream.

  upstreamReady(connection: UpstreamConnection, warm: boolean): void {
    if (this.#done) {
      connection.abort();
      return;
    }
    const { converter } = this.#route as CompiledRoute;
    if (converter !== undefined) {
      this.#convert(converter, connection);
      return;
    }
    this.#connection = connection;
    this.#warm = warm;
    const { request, id } = this;
    const { headers } = request;
    const chunked = request.bodyLength < 0;
    const forwarded = this.#shared.forwarded(request, this.#before as ForwardedBefore);
    const body = this.#body;
    const joined = !chunked && body !== undefined && body.size <= joinBytes ? body.size : 0;
    const { path, query, method } = request;
    reserve(
      requestHeadBytes +
        method.length +
        path.length +
        query.length +
        headers.byteBound +
        forwarded.length +
        id.length +
        joined,
    );
    const { bytes, used } = slab;
    let at = writeRequestHead(bytes, used, request, chunked, forwarded, id);
    if (joined > 0) for (const piece of this.#takeBody()) at = putBytes(bytes, at, piece, 0, piece.length);
    slab.used = at;
    const left = body !== undefined && body.size > 0 ? this.#takeBody() : noPieces;
    let free = connection.begin(this, bytes.subarray(used, at), {
      isHead: method === "HEAD",
      websocket: request.websocket,
      chunked,
      complete: this.#bodyEnded && !chunked && left.length === 0,
    });
    for (const piece of left) free = connection.sendBody(piece);
    if (this.#bodyEnded && (chunked || left.length > 0)) connection.endBody(this.#trailers);
    if (free) this.#creditClient();
  }

  /** Hands the client and the upstream's stream to the converter, as streams of bytes. */
  #convert(converter: Converter, connection: UpstreamConnection): void {
    this.#pool = undefined;
    const upstream = connection.raw();
    const client: ByteStream = {
      receiver: nobody,
      write: (bytes) => this.#done || this.stagedBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)),
      writeLatin1: (text) => this.#done || this.stagedBody(Buffer.from(text, "latin1")),
      end: () => {
        if (this.#done || this.#upstreamEnded) return;
        this.#upstreamEnded = true;
        this.#client.sendEnd(undefined);
        if (this.#bodyEnded) this.#endUpgraded();
      },
      abort: () => {
        if (!this.#done) this.#cut();
      },
      consumed: (byteCount) => this.#client.requestConsumed(byteCount),
    };
    const fields = emptyFields();
    try {
      const accepted = converter.accept(this);
      for (const name in accepted) fields.append(name, accepted[name] as string);
      converter.join(client, upstream);
    } catch (error) {
      upstream.abort();
      this.#moduleFailed(error);
      return;
    }
    this.#converted = client.receiver;
    this.#settle(101);
    this.#upgraded = true;
    this.#bodyEnded = false;
    this.status = 101;
    this.#client.sendHead(101, undefined, fields, -1, this.id);
  }

  upstreamInterim(status: number, fields: FieldTable): void {
    if (status === 100) {
      if (!this.request.expectsContinue || this.#continueSent) return;
      this.#continueSent = true;
      this.#client.sendInterim(100, undefined);
      return;
    }
    stripResponse(fields);
    this.#client.sendInterim(status, fields);
  }

  upstreamHead(head: ResponseRead, bodyLength: number): void {
    const { fields } = head;
    if (head.status === 502 && this.#pool?.options.isAgent === true && dialFailure(head)) {
      const connection = this.#connection;
      this.#connection = undefined;
      connection?.abort();
      this.#tryAnother("agent_dial_failed", this.request.bodyLength === 0);
      return;
    }
    this.#settle(head.status);
    stripResponse(fields);
    const { status } = head;
    if (status === 101) {
      this.#upgraded = true;
      // From here on the client's bytes are the stream's, until it ends its direction.
      this.#bodyEnded = false;
      this.status = status;
      this.#client.sendHead(status, head.reason, fields, -1, this.id);
      return;
    }
    const hooks = (this.#route as CompiledRoute).response;
    if (hooks.length === 0) {
      this.status = status;
      this.#client.sendHead(status, head.reason, fields, bodyLength, this.id);
      return;
    }
    const response = new ModuleResponse(status, fields);
    this.#response = response;
    if (!this.#respond(response)) return;
    this.status = response.status;
    const transformed = response.isTransformed && bodyLength !== 0;
    if (transformed) {
      response.headers.delete("content-length");
      response.start(this);
    }
    const reason = response.status === status ? head.reason : undefined;
    this.#client.sendHead(response.status, reason, fields, transformed ? -1 : bodyLength, this.id);
  }

  /** Runs the response hooks; false when one of them ended the exchange. */
  #respond(response: ModuleResponse): boolean {
    const { status } = response;
    for (const hook of (this.#route as CompiledRoute).response) {
      try {
        if (!this.#take((hook as ResponseModule).response(this))) return false;
        if (!(response.status >= 200 && response.status <= 599)) throw new Error("answer: no such final status");
        if (isBodiless(response.status) !== isBodiless(status))
          throw new Error("answer: the status changes the framing");
      } catch (error) {
        this.#moduleFailed(error);
        return false;
      }
    }
    return true;
  }

  upstreamBody(bytes: Buffer): void {
    const { length } = bytes;
    const response = this.#response;
    const free = response?.isStarted === true ? response.write(bytes) : this.stagedBody(bytes);
    if (free) this.#connection?.consumed(length);
    else this.#owedToUpstream += length;
  }

  upstreamEnd(trailers: FieldTable | undefined): void {
    if (this.#upgraded) {
      this.#upstreamEnded = true;
      this.#client.sendEnd(undefined);
      if (this.#bodyEnded) this.#endUpgraded();
      return;
    }
    // The connection goes to the next request with its window whole, though the client may still be reading.
    this.#creditUpstream();
    this.#connection = undefined;
    if (this.#response?.isStarted === true) {
      this.#response.end();
      return;
    }
    if (trailers !== undefined) stripResponse(trailers);
    this.#finish();
    this.#client.sendEnd(trailers);
  }

  upstreamFailed(reason: RefusalName, unused: boolean): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#done) return;
    if (this.status !== 0) {
      this.#cut();
      return;
    }
    const { request } = this;
    if (connection !== undefined && !unused) {
      const again =
        this.#warm &&
        !connection.answered &&
        !this.#retried &&
        reason === "upstream_refused" &&
        request.bodyLength === 0 &&
        !request.websocket &&
        idempotent.has(request.method);
      if (again) {
        this.#retried = true;
        this.#pool?.request(this, true);
        return;
      }
      this.#settle(undefined);
      this.#refuse(reason, "the upstream did not answer the request");
      return;
    }
    this.#tryAnother(reason, unused);
  }

  upstreamDrained(): void {
    this.#creditClient();
  }

  /** Goes on to the next choice when the request can still be sent whole, else answers. */
  #tryAnother(reason: RefusalName, untouched: boolean): void {
    this.#lastFailure = reason;
    const tried = (this.#tried ??= []);
    if (this.#pool !== undefined) tried.push(this.#pool);
    this.#pool = undefined;
    if (untouched && tried.length < maxTries) {
      this.steps.push(unreachable(reason));
      this.#choose();
      return;
    }
    this.#settle(undefined);
    this.#refuse(reason, "the upstream could not be reached");
  }

  // The client.

  requestBody(bytes: Buffer): void {
    const { length } = bytes;
    const { context } = this.#shared;
    this.bytesIn += length;
    context.counters.bytesIn += length;
    if (this.#done) {
      this.#client.requestConsumed(length);
      return;
    }
    if (this.bytesIn > context.limits.maxBodyBytes && !this.#upgraded) {
      this.requestFailed("payload_too_large");
      return;
    }
    if (this.#converted !== undefined) {
      this.#converted.data(bytes);
      return;
    }
    const connection = this.#connection;
    if (connection === undefined) {
      this.#owedToClient += length;
      if ((this.#body ??= new RequestBody()).add(bytes)) this.#creditClient();
    } else if (connection.sendBody(bytes)) this.#client.requestConsumed(length);
    else this.#owedToClient += length;
  }

  requestEnded(trailers: FieldTable | undefined): void {
    this.#bodyEnded = true;
    if (this.#done) return;
    if (trailers !== undefined) stripRequest(trailers, false);
    this.#trailers = trailers;
    this.#body?.end();
    this.#connection?.endBody(trailers);
    this.#converted?.ended();
    if (this.#upgraded && this.#upstreamEnded) this.#endUpgraded();
  }

  requestFailed(reason: RefusalName): void {
    if (this.#done) return;
    if (this.status === 0) this.#refuse(reason, "the request's body was not sent as it should be");
    else this.#cut();
    this.#body?.fail(reason);
  }

  clientDrained(): void {
    if (this.#converted !== undefined) this.#converted.drained();
    else if (this.#response?.isStarted === true) this.#response.resume();
    else this.#creditUpstream();
  }

  clientGone(): void {
    if (this.#done) return;
    this.abandoned = this.status === 0;
    this.cutShort = true;
    this.#release();
    if (this.#pool !== undefined) this.#settle(undefined);
    this.#finish();
    this.#body?.fail("bad_request");
    this.#converted?.closed(undefined);
  }

  // The response on its way to the client.

  stagedBody(bytes: Buffer): boolean {
    this.bytesOut += bytes.length;
    this.#context.counters.bytesOut += bytes.length;
    return this.#client.sendBody(bytes);
  }

  stagedEnd(): void {
    if (this.#done) return;
    this.#finish();
    this.#client.sendEnd(undefined);
  }

  stagedFailed(error: Error): void {
    if (this.#done) return;
    this.#context.log.error("response body transform failed", { request: this.id, error });
    this.#cut();
  }

  stagesDrained(): void {
    this.#creditUpstream();
  }

  #moduleFailed(error: unknown): void {
    if (this.#done) return;
    if (error instanceof Refusal) return this.#refuse(error.reason, error.message);
    this.#context.log.error("module failed", { request: this.id, route: this.routeId, error });
    this.#deny(moduleFailed(error));
  }

  #refuse(reason: RefusalName, why: string): void {
    this.#deny(refused(reason, why));
  }

  /** Ends the exchange by a step of the router. */
  #deny(step: Step): void {
    this.steps.push(step);
    this.#answer(step.answer as Answer);
  }

  #answer(answer: Answer): void {
    this.#release();
    const { id, request } = this;
    const facts = { id, method: request.method, accept: request.headers.get("accept") };
    const nowMs = this.#context.clock.now();
    let rendered: RenderedAnswer;
    try {
      rendered = renderAnswer(answer, facts, nowMs);
    } catch (error) {
      this.#context.log.error("answer cannot be sent", { request: id, route: this.routeId, error });
      rendered = renderAnswer({ error: "route_broken" }, facts, nowMs);
    }
    const { status, fields, body } = rendered;
    this.status = status;
    this.#client.sendHead(status, undefined, fields, body.length, id);
    if (body.length > 0) this.stagedBody(body);
    this.#finish();
    this.#client.sendEnd(undefined);
  }

  #cut(): void {
    this.cutShort = true;
    this.#release();
    this.#finish();
    this.#client.abort();
  }

  #endUpgraded(): void {
    if (this.#done) return;
    this.#release();
    this.#finish();
  }

  /** Lets go of the upstream, wherever the request is. */
  #release(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) this.#pool?.withdraw(this);
    else connection.abort();
    this.#response?.destroy();
  }

  #settle(upstreamStatus: number | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const hook of this.#route?.settled ?? []) {
      try {
        hook.settled?.(this, upstreamStatus);
      } catch (error) {
        this.#context.log.error("module failed", { request: this.id, route: this.routeId, error });
      }
    }
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    const { counters, finished } = this.#context;
    counters.openExchanges -= 1;
    const digit = Math.floor(this.status / 100);
    counters.byClass[digit] = (counters.byClass[digit] as number) + 1;
    if (this.#owedToClient > 0) this.#creditClient();
    finished?.(this);
  }

  #takeBody(): readonly Buffer[] {
    return this.#body?.take() ?? noPieces;
  }

  #creditClient(): void {
    const owed = this.#owedToClient;
    if (owed === 0) return;
    this.#owedToClient = 0;
    this.#client.requestConsumed(owed);
  }

  #creditUpstream(): void {
    const owed = this.#owedToUpstream;
    if (owed === 0) return;
    this.#owedToUpstream = 0;
    this.#connection?.consumed(owed);
  }
}

type RequestModule = CompiledModule & Required<Pick<CompiledModule, "request">>;
type ResponseModule = CompiledModule & Required<Pick<CompiledModule, "response">>;

const noBytes = Buffer.alloc(0);
const noPieces: readonly Buffer[] = [];
const nobody: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };

/** A backend was passed over: no stream to it could be opened. */
function unreachable(reason: RefusalName): Step {
  return skipped("backend", `no stream could be opened: ${reason}`);
}
