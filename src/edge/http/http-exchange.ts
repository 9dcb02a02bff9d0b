import { runContained } from "../../lib/boundary.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { ResponseHead } from "../../traffic/exchange.ts";
import { dropLoginCookies } from "../../traffic/login.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import { FrameBoundary } from "../../websocket/frame-boundary.ts";
import { closeCodes, closeFrame } from "../../websocket/websocket-frames.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { CompiledRoute } from "../../routing/sites/compiled-site.ts";
import { renderAnswer } from "./answer.ts";
import type { RenderedAnswer } from "./answer.ts";
import type { ClientConnection } from "./visitor-connection.ts";
import type { ClientSide, ExchangeInput } from "./client-side.ts";
import { DecidedExchange } from "./decided-exchange.ts";
import type { ResponseHook } from "./decided-exchange.ts";
import { stripRequest, stripResponse } from "./forwarded-fields.ts";
import type { ForwardedBefore } from "./forwarded-fields.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { RequestBody } from "./request-body.ts";
import { HeldResponse } from "./held-response.ts";
import { ModuleResponse } from "./response-stages.ts";
import type { ResponseBodyKeeper, StagesOutput } from "./response-stages.ts";
import { judgesHeads, keepUpgradeFields } from "./unjudged-heads.ts";
import { UpstreamSide } from "./upstream-side.ts";
import type { ForwardedExchange } from "./upstream-side.ts";

const goingAway = closeFrame(closeCodes.goingAway);

/**
 * One request and its response. The route's modules decide, `UpstreamSide` forwards, and the response is streamed back.
 * Every client protocol (`ClientSide`) uses the same class. Backpressure limits buffering: the edge credits the sender
 * only for bytes that the receiver has accepted.
 */
export class HttpExchange
  extends DecidedExchange
  implements ExchangeInput, ForwardedExchange, ResponseBodyKeeper, StagesOutput
{
  readonly #client: ClientSide;
  readonly #body: RequestBody;
  #upstream: UpstreamSide | undefined;
  #response: ModuleResponse | undefined;
  /** Length of the upstream's response, or -1 if unknown. */
  #responseLength = -1;
  /** Response bytes that wait for the response hooks' decision. */
  #held: HeldResponse | undefined;
  /** Whether the client's direction of the upgraded exchange has ended. */
  #upgradedEnded = false;
  /** Position in the frames of a WebSocket's service. Undefined for other exchanges. */
  #frames: FrameBoundary | undefined;
  /** Whether the WebSocket is closed when the current frame is complete. */
  #isLeaving = false;
  /** Whether the edge has sent the close frame. */
  #saidGoodbye = false;

  constructor(shared: ClientConnection, client: ClientSide, request: ReceivedRequest) {
    super(shared, request);
    this.#client = client;
    this.#body = new RequestBody(client, request, this);
  }

  get response(): ResponseHead | undefined {
    return this.answered ?? this.#response;
  }

  get connectionReused(): boolean | undefined {
    return this.#response === undefined ? undefined : this.#upstream?.isWarm;
  }

  get dialDurationMs(): number | undefined {
    return this.#response === undefined ? undefined : this.#upstream?.dialDurationMs;
  }

  body(maxBytes: number): Promise<Buffer> {
    if (this.#upstream?.takesBody !== true) return this.#body.collect(maxBytes);
    return Promise.reject(new Error("read a request body: it is being forwarded"));
  }

  replaceBody(bytes: Buffer): void {
    if (this.#upstream?.takesBody === true) throw new Error("replace a request body: it is being forwarded");
    this.#body.replace(bytes);
    // Only chunked bodies have trailers (RFC 9112 §7.1.2).
    if (this.request.bodyLength < 0 && this.#body.trailers !== undefined) return;
    this.request.bodyLength = bytes.length;
    this.request.headers.set("content-length", String(bytes.length));
  }

  /** Body bytes that have already been read may be passed before this call. */
  start(): void {
    this.decide();
  }

  protected ask(hook: Required<Pick<CompiledModule, "request">>): Step | Promise<Step> {
    return hook.request(this);
  }

  protected askResponse(hook: ResponseHook): Step | Promise<Step> {
    return hook.response(this);
  }

  protected drop(): void {
    this.cut();
    this.shared.carrier?.destroy();
  }

  protected forward(route: CompiledRoute, plan: UpstreamPlan, before: ForwardedBefore): void {
    const upstream = new UpstreamSide(this, this.#client, this.#body, route, plan, before);
    this.#upstream = upstream;
    upstream.choose();
  }

  // Input from the client.

  requestBody(bytes: Buffer): void {
    const { length } = bytes;
    this.received(length);
    if (this.status !== 101) this.captureBody(bytes);
    if (this.isOver) {
      this.#client.requestConsumed(length);
    } else if (this.bytesIn > this.shared.context.limits.maxBodyBytes && this.status !== 101) {
      this.requestFailed("payload_too_large");
    } else if (this.#upstream?.takesBody === true) {
      this.#upstream.sendBody(bytes);
    } else if (!this.#body.keep(bytes)) {
      this.requestFailed("edge_full");
    }
  }

  requestEnded(trailers: FieldTable | undefined): void {
    this.#body.hasEnded = true;
    if (this.isOver) return;
    this.bodyArrival ??= this.shared.context.moments.present;
    if (trailers !== undefined) stripRequest(trailers, false);
    this.request.trailers = trailers;
    this.#body.end(trailers);
    this.#upstream?.bodyEnded();
    if (this.#upgradedEnded) this.#endUpgraded();
  }

  requestFailed(reason: RefusalName): void {
    if (this.isOver) return;
    if (this.status === 0) this.refuse(reason, "the request's body was not sent correctly");
    else this.cut();
    this.#body.fail(reason);
  }

  clientDrained(): void {
    if (this.#response?.isStarted === true) this.#response.resume();
    else this.#upstream?.clientDrained();
  }

  clientGone(): void {
    if (this.isOver) return;
    this.abandoned = this.status === 0;
    this.cutShort = true;
    this.#release();
    this.#finish();
    this.#body.fail("bad_request");
    this.#upstream?.clientGone();
  }

  // Response of the upstream.

  guardLogins(fields: FieldTable): void {
    if (this.hasLogins) dropLoginCookies(fields);
  }

  responseHead(head: ResponseRead, bodyLength: number): void {
    const { status, fields } = head;
    this.responded = head;
    this.guardLogins(fields);
    const route = this.route as CompiledRoute;
    if (status === 101) {
      const upgradedTo = fields.valueAt(fields.upgradeIndex);
      if (judgesHeads(route.response)) keepUpgradeFields(fields);
      this.#upgrade(head.reason, fields, upgradedTo);
      return;
    }
    if (this.request.websocket && this.#staysClosed(status)) return;
    if (route.response.length === 0) {
      this.status = status;
      this.#client.sendHead(status, head.reason, fields, bodyLength, this.requestId);
      return;
    }
    const response = new ModuleResponse(status, fields, this);
    this.#response = response;
    this.#responseLength = bodyLength;
    const goesOn = this.respond(route, response);
    if (goesOn instanceof Promise) {
      this.keepBody();
      goesOn
        .then((decided) => {
          if (decided && !this.isOver) this.#sendHeld(head, response);
        })
        .catch((error: unknown) => this.broke(error));
    } else if (goesOn) this.#sendHeld(head, response);
  }

  get keptBody(): HeldResponse | undefined {
    return this.#held;
  }

  keepBody(): HeldResponse {
    return (this.#held ??= new HeldResponse(this.#responseLength, this, () => this.#upstream?.creditUpstream()));
  }

  #sendResponse(head: ResponseRead, response: ModuleResponse, bodyLength: number): void {
    if (this.request.websocket && this.#staysClosed(response.status)) return;
    this.status = response.status;
    const { headers } = response;
    const transformed = response.isTransformed && bodyLength !== 0;
    if (transformed) {
      headers.delete("content-length");
      response.start(this);
    }
    const reason = response.status === head.status ? head.reason : undefined;
    this.#client.sendHead(response.status, reason, headers, transformed ? -1 : bodyLength, this.requestId);
  }

  /**
   * Sends the upstream bytes that arrived while response hooks were deciding, or the body with which the hooks replaced
   * them.
   */
  #sendHeld(head: ResponseRead, response: ModuleResponse): void {
    const held = this.#held;
    if (held === undefined) {
      this.#sendResponse(head, response, this.#responseLength);
      return;
    }
    this.#held = undefined;
    const { replaced, end } = held;
    const pieces = held.take();
    this.#sendResponse(head, response, replaced?.length ?? this.#responseLength);
    let hasRoom = true;
    for (const bytes of pieces) if (!this.isOver && bytes.length > 0) hasRoom = this.responseBody(bytes);
    if (this.isOver) return;
    // Trailers describe the original body, so a replaced body gets none.
    if (end !== undefined) this.responseEnd(replaced === undefined ? end.trailers : undefined);
    else if (hasRoom) this.#upstream?.creditUpstream();
  }

  responseBody(bytes: Buffer): boolean {
    if (this.#held !== undefined) return this.#held.keep(bytes);
    const response = this.#response;
    return response?.isStarted === true ? response.write(bytes) : this.sendBody(bytes);
  }

  responseEnd(trailers: FieldTable | undefined): void {
    if (trailers !== undefined) {
      stripResponse(trailers);
      this.guardLogins(trailers);
    }
    if (this.#held !== undefined) {
      this.#held.ended(trailers);
      return;
    }
    if (this.#response?.isStarted === true) {
      this.#response.end();
      return;
    }
    this.#complete(trailers);
  }

  sendBody(bytes: Buffer): boolean {
    if (this.#frames !== undefined) {
      if (this.#saidGoodbye) return true;
      if (this.#isLeaving) return this.#sendFrame(this.#frames, bytes);
      this.#frames.pass(bytes);
    }
    this.sent(bytes.length);
    return this.#client.sendBody(bytes);
  }

  stagedEnd(): void {
    if (this.isOver) return;
    this.#complete(undefined);
  }

  stagedFailed(error: Error): void {
    if (this.isOver) return;
    this.shared.context.log.error("response body transform failed", { request: this.id, error });
    this.cut();
  }

  stagesDrained(): void {
    this.#upstream?.creditUpstream();
  }

  // Upgraded exchanges, raw bytes in both directions.

  /** A long exchange must not retain memory that it shares with other exchanges. */
  lasts(): void {
    this.request.headers.own();
    this.responded?.fields.own();
    this.#body.release();
  }

  converted(fields: FieldTable): void {
    this.#upgrade(undefined, fields, "websocket");
  }

  upgradedEnd(): void {
    if (this.#upgradedEnded) return;
    this.#upgradedEnded = true;
    this.#client.sendEnd(undefined);
    if (this.#body.hasEnded) this.#endUpgraded();
  }

  /**
   * Refuses a response that would wrongly open the client's stream. Any 2xx opens an extended CONNECT (RFC 8441 §5), so
   * only an upgrade may send it. A redirection cannot replace an open stream either.
   */
  #staysClosed(status: number): boolean {
    if (this.request.httpVersion !== "2" || status >= 400) return false;
    this.refuse("not_upgraded", `the WebSocket upgrade was answered with ${status}`);
    return true;
  }

  #upgrade(reason: string | undefined, fields: FieldTable, upgradedTo: string): void {
    // From here on the client's bytes belong to the upgraded stream, until the client ends its direction.
    this.#body.hasEnded = false;
    this.status = 101;
    if (this.request.websocket) this.#frames = new FrameBoundary();
    this.lasts();
    this.#client.sendHead(101, reason, fields, -1, this.requestId, upgradedTo);
  }

  /**
   * Closes a WebSocket with 1001 when the current frame is complete. The client's answer still reaches the service.
   * Returns false for other exchanges, which continue.
   */
  leave(): boolean {
    const frames = this.#frames;
    if (frames === undefined || this.isOver) return false;
    if (this.#upgradedEnded || frames.isClosing) return true;
    if (frames.isBetween) this.#sayGoodbye();
    else this.#isLeaving = true;
    return true;
  }

  lostTunnel(): void {
    const frames = this.#frames;
    if (frames?.isBetween !== true || frames.isClosing || this.#upgradedEnded) this.cut();
    else {
      this.#sendClose();
      this.#upgradedEnded = true;
      this.cut();
      this.#client.sendEnd(undefined);
    }
  }

  #sendFrame(frames: FrameBoundary, bytes: Buffer): boolean {
    const rest = bytes.subarray(0, frames.passFrame(bytes));
    this.sent(rest.length);
    const hasRoom = this.#client.sendBody(rest);
    if (frames.isBetween && !frames.isClosing) this.#sayGoodbye();
    return hasRoom;
  }

  #sayGoodbye(): void {
    this.#sendClose();
    this.upgradedEnd();
  }

  #sendClose(): void {
    this.#saidGoodbye = true;
    this.sent(goingAway.length);
    this.#client.sendBody(goingAway);
  }

  #endUpgraded(): void {
    if (this.isOver) return;
    this.#upstream?.letGo();
    this.#finish();
  }

  // End of the exchange.

  /** Concludes the exchange and ends the response. If that throws, the client sees a cut response. */
  #complete(trailers: FieldTable | undefined): void {
    this.#finish();
    try {
      this.#client.sendEnd(trailers);
    } catch (error) {
      this.failed(error);
      this.#client.abort();
    }
  }

  answer(answer: Answer): void {
    this.#release();
    const { status, fields, body } = this.#render(answer);
    if (this.request.websocket && this.#staysClosed(status)) return;
    this.status = status;
    this.#client.sendHead(status, undefined, fields, body.length, this.requestId);
    if (body.length > 0) this.sendBody(body);
    this.#complete(undefined);
  }

  #render(answer: Answer): RenderedAnswer {
    const { id, request } = this;
    const { clock, log } = this.shared.context;
    const answered = { id, method: request.method, accept: request.headers.getAll("accept").join(", ") || undefined };
    try {
      return renderAnswer(answer, answered, clock.now());
    } catch (error) {
      log.error("response cannot be sent", { request: id, route: this.routeId, error });
      return renderAnswer({ error: "route_broken" }, answered, clock.now());
    }
  }

  /**
   * Handles an error of code that processed the exchange. Responds with 500 if no response has begun, otherwise cuts
   * the response.
   */
  broke(error: unknown): void {
    if (!this.isOver && this.status === 0) {
      try {
        this.moduleFailed(error);
      } catch (another) {
        this.failed(another);
      }
    } else this.failed(error);
    if (this.isOver) return;
    this.cutShort = true;
    runContained("exchange", () => this.#release());
    runContained("exchange", () => this.#finish());
    this.#client.abort();
    this.#upstream?.cutConverter();
  }

  breakOff(): void {
    if (!this.isOver) this.cut();
  }

  /** Cuts a response that has begun, so that the client sees that it is incomplete. */
  cut(): void {
    this.cutShort = true;
    this.#release();
    this.#finish();
    // The client must receive the close frame.
    if (!this.#saidGoodbye) this.#client.abort();
    this.#upstream?.cutConverter();
  }

  #release(): void {
    this.#upstream?.release();
    this.#response?.destroy();
  }

  #finish(): void {
    if (this.isOver) return;
    this.conclude();
    this.#body.take();
    this.#body.credit();
    this.#held?.take();
    this.#held?.fail("upstream_refused");
  }
}
