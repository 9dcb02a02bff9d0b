import type { ResponseRead } from "../../http1/read-response.ts";
import { runContained, reportFailure } from "../../lib/boundary.ts";
import type { CallChain } from "../../traffic/http-calls.ts";
import type { ExchangeWatcher } from "../../traffic/exchange.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { McpSession } from "../../traffic/mcp-session.ts";
import type { LoginCookies, Visitor } from "../../traffic/visitor.ts";
import type { Step } from "../../traffic/step.ts";
import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled-site.ts";
import type { ExchangeTrace } from "./exchange-trace.ts";
import type { ClientConnection } from "./visitor-connection.ts";
import type { FinishedExchange } from "./http-context.ts";
import type { OwnedAnswer } from "./owned-paths.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { Moment } from "../../lib/moments.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { newRequestId } from "../../lib/traffic-ids.ts";

/** Data about an exchange for modules, the log, the counters and the trace. */
export class ExchangeRecord implements FinishedExchange {
  readonly requestId: TrafficId;
  readonly request: ReceivedRequest;
  /** Time at which the head was read. */
  readonly arrival: Moment;
  readonly revision: number;
  bodyArrival: Moment | undefined;
  readonly shared: ClientConnection;
  readonly steps: Step[] = [];
  logs: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Facts of this request. Behind a trusted proxy, each request has its own source. */
  connection: ConnectionFacts;
  site: Site | undefined;
  /** Complete site at the host. All of its endpoints share its logins. */
  wholeSite: Site | undefined;
  route: CompiledRoute | undefined;
  /** Hook that answers instead of a route. */
  owned: OwnedAnswer | undefined;
  status = 0;
  bytesIn = 0;
  bytesOut = 0;
  abandoned = false;
  cutShort = false;
  loginCookies: LoginCookies | undefined;
  accessToken: string | undefined;
  login: Visitor | undefined;
  webhookProvider: string | undefined;
  calls: CallChain | undefined;
  mcpSession: McpSession | undefined;
  ownerAccount: string | undefined;
  watcher: ExchangeWatcher | undefined;
  waitedMs: number | undefined;
  trace: ExchangeTrace | undefined;
  chosenAt: number | undefined;
  sentAt: number | undefined;
  stepEnds: number[] | undefined;
  responded: ResponseRead | undefined;
  capturedBody: Buffer | undefined;
  #early: Buffer | undefined;
  #durationMs: number | undefined;
  tunnel: ServingTunnel | undefined;
  /** Whether the exchange is over. */
  isOver = false;

  constructor(shared: ClientConnection, request: ReceivedRequest) {
    const { context } = shared;
    this.shared = shared;
    this.request = request;
    this.connection = shared.facts;
    this.calls = shared.calls;
    this.arrival = context.moments.present;
    this.revision = context.configuration?.revision ?? 0;
    if (request.bodyLength === 0) this.bodyArrival = this.arrival;
    this.requestId = newRequestId(this.arrival.now);
    context.counters.openExchanges += 1;
  }

  get id(): string {
    return this.requestId.text;
  }

  get receivedAt(): number {
    return this.arrival.now;
  }

  get bodyReceivedAt(): number | undefined {
    return this.bodyArrival?.now;
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
    return this.connection.source;
  }

  get accountId(): string | undefined {
    return this.ownerAccount ?? this.site?.accountId;
  }

  get siteId(): string | undefined {
    return this.site?.id;
  }

  get routeId(): string | undefined {
    return this.route?.id;
  }

  get bytesMoved(): number {
    return this.bytesIn + this.bytesOut;
  }

  /** Of an exchange that is over, the time to its end. Several observers read it. */
  get durationMs(): number {
    if (this.#durationMs !== undefined) return this.#durationMs;
    const duration = this.shared.context.clock.monotonic() - this.arrival.monotonic;
    if (this.isOver) this.#durationMs = duration;
    return duration;
  }

  received(byteCount: number): void {
    this.bytesIn += byteCount;
    this.shared.context.counters.bytesIn += byteCount;
  }

  /** Copies the start of the body if it is captured. Bytes that arrived with the head wait for the route. */
  captureBody(bytes: Buffer): void {
    if (this.site === undefined) {
      this.#early ??= bytes;
      return;
    }
    const most = this.shared.context.capturedBytes?.(this) ?? 0;
    const start = this.capturedBody;
    const room = most - (start?.length ?? 0);
    if (room <= 0) return;
    const piece = bytes.subarray(0, room);
    this.capturedBody = start === undefined ? Buffer.from(piece) : Buffer.concat([start, piece]);
  }

  protected captureEarlyBody(): void {
    const early = this.#early;
    if (early === undefined) return;
    this.#early = undefined;
    this.captureBody(early);
  }

  sent(byteCount: number): void {
    this.bytesOut += byteCount;
    this.shared.context.counters.bytesOut += byteCount;
  }

  /** Reports that a module of the route has thrown. */
  hookFailed(error: unknown): void {
    this.failed(error);
  }

  /**
   * Logs and counts an error that our code threw while processing the exchange, and records it as a problem of the
   * route.
   */
  failed(error: unknown): void {
    const { route } = this;
    reportFailure("exchange", error, { request: this.id, route: route?.id });
    if (route !== undefined) this.shared.context.routeFailed?.(route, error);
  }

  /** Ends the record and reports it. Later calls have no effect. */
  conclude(): void {
    if (this.isOver) return;
    this.isOver = true;
    const { watcher } = this;
    if (watcher !== undefined) runContained("exchange", () => watcher.over());
    const { counters, finished } = this.shared.context;
    counters.openExchanges -= 1;
    const digit = Math.floor(this.status / 100);
    counters.byClass[digit] = (counters.byClass[digit] as number) + 1;
    if (finished !== undefined) runContained("exchange", () => finished(this));
  }
}
