import type { Socket } from "node:net";
import type { FieldTable } from "../../http1/field-table.ts";
import { HostReader } from "../../http1/host-reader.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { SocketReader, TurnReader } from "../../lib/io/turn-reader.ts";
import { readInTurns } from "../../lib/io/turn-reader.ts";
import { addWork } from "../../lib/slices.ts";
import type { SlicedWork } from "../../lib/slices.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";
import { cutSocket } from "../../lib/io/socket-stream.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import { ClientConnection } from "./visitor-connection.ts";
import type { ClientSide } from "./client-side.ts";
import type { HttpContext, ServedConnection, SiteLookup } from "./http-context.ts";
import { makeContained, reportFailure } from "../../lib/boundary.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Timed } from "../../lib/deadlines.ts";
import { HttpExchange } from "./http-exchange.ts";
import { Holding } from "./exchange-holding.ts";
import { answerMalformed } from "./http1-malformed.ts";
import { Http1Output } from "./http1-output.ts";
import {
  awaitingResponse,
  betweenRequests,
  closed,
  Http1Reader,
  inBody,
  inHead,
  lingering,
  upgraded,
} from "./http1-reader.ts";
import type { RequestReceiver } from "./http1-reader.ts";
import { receiveHttp1 } from "./http1-request.ts";

/** Interval at which a long exchange is checked, milliseconds. */
const lookMs = 5_000;
/** Number of unconsumed request body bytes at which the socket is paused. */
const readAheadBytes = 64 * 1024;

/**
 * Serves HTTP/1.1 on a connected socket, after any TLS handshake. Calls `sites` for each request, so that a
 * configuration change applies to the next request on an open connection. The socket must have been created with
 * `allowHalfOpen: true`. The connection takes ownership of it.
 *
 * @param first bytes that were already read from the socket
 */
export function serveHttp1(
  socket: Socket,
  facts: ConnectionFacts,
  sites: SiteLookup,
  context: HttpContext,
  first?: Buffer,
): ServedConnection {
  const connection = new Http1Connection(socket, new ClientConnection(facts, sites, context));
  if (first !== undefined && first.length > 0) connection.receive(first);
  return connection;
}

class Http1Connection implements ClientSide, RequestReceiver, ServedConnection, SlicedWork, SocketReader, Timed {
  expiresAt: number;
  place = -1;
  isBlocked = false;
  readonly #socket: Socket;
  readonly #shared: ClientConnection;
  readonly #context: HttpContext;
  readonly #arrivals: TurnReader;
  readonly #watch: Timer;
  readonly #output: Http1Output;
  readonly #reader: Http1Reader;
  readonly #hosts = new HostReader();
  readonly #bornAt: number;
  #exchange: HttpExchange | undefined;
  #isOld = false;
  #closeAfter = false;
  /** Whether the connection closes after the next response. */
  #isRetiring = false;
  #wasAsked = false;
  #isDraining = false;
  #responseBegun = false;
  #responseDone = false;
  /** Whether the end of the connection ends the response. */
  #untilClose = false;
  /** Whether the client waits for 100 before it sends its body. */
  #awaitsContinue = false;
  #unconsumed = 0;
  #windowBytes = 0;
  /** Bytes that wait for a slow client. */
  #holding: Holding | undefined;
  /** Bytes that the client still sends after our end. */
  #rest: UnreadRest | undefined;

  constructor(socket: Socket, shared: ClientConnection) {
    const { context } = shared;
    this.#socket = socket;
    this.#shared = shared;
    shared.carrier = this;
    this.#context = context;
    this.#output = new Http1Output(socket, () => this.drained());
    this.#reader = new Http1Reader(socket, context.limits, this);
    this.#bornAt = context.deadlines.now;
    this.expiresAt = this.#bornAt + context.limits.headTimeoutMs;
    this.#watch = context.deadlines.add(this);
    context.connections.add(this);
    context.counters.openConnections += 1;
    this.#arrivals = readInTurns(socket, this);
  }

  receive(bytes: Buffer): void {
    switch (this.#reader.state) {
      case upgraded:
        this.bodyBytes(bytes);
        return;
      case lingering:
        this.#drop(bytes.length);
        return;
      case closed:
        return;
      default:
        this.#reader.read(bytes);
    }
  }

  get mayBeAsked(): boolean {
    return !this.#wasAsked;
  }

  retire(): void {
    this.#isRetiring = true;
  }

  drain(): void {
    this.#arrivals.turn();
    this.#isDraining = true;
    if (this.#reader.state === betweenRequests) this.#end();
  }

  leave(): boolean {
    return this.#exchange?.leave() ?? false;
  }

  destroy(): void {
    this.#socket.destroy();
    this.closed();
  }

  expired(): void {
    const { limits, deadlines } = this.#context;
    switch (this.#reader.state) {
      case inHead:
        this.malformed("request_timeout", "head not complete in time");
        return;
      case inBody:
        if (this.isBlocked) break;
        if (
          !this.#responseBegun &&
          !this.#awaitsContinue &&
          this.#unconsumed < readAheadBytes &&
          this.#windowBytes * 1000 < limits.minBodyBytesPerSecond * limits.bodyWindowMs
        ) {
          this.#exchange?.requestFailed("request_timeout");
          return;
        }
        this.#windowBytes = 0;
        this.#exchange?.lasts();
        this.expiresAt = deadlines.now + limits.bodyWindowMs;
        return;
      case awaitingResponse:
      case upgraded:
        // After the end of an upgraded response, the upstream sets the pace of the client's remaining bytes.
        if (this.#responseDone && this.#exchange?.isOver === true) break;
        if (this.#responseDone ? this.#socket.writableFinished : !this.isBlocked) {
          this.#exchange?.lasts();
          this.expiresAt = this.#responseDone ? Infinity : deadlines.now + lookMs;
          return;
        }
    }
    this.destroy();
  }

  // Implementation of RequestReceiver.

  headBegun(): void {
    this.expiresAt = this.#context.deadlines.now + this.#context.limits.headTimeoutMs;
  }

  head(read: RequestRead): boolean {
    this.#wasAsked = true;
    const { fields } = read;
    const request = receiveHttp1(read, this.#shared.scheme, this.#hosts);
    if (typeof request === "string") {
      this.malformed("bad_request", request);
      return false;
    }
    this.#isOld = read.minorVersion === 0;
    this.#closeAfter = fields.connectionClose || (this.#isOld && !fields.connectionKeepAlive);
    this.#responseBegun = false;
    this.#responseDone = false;
    this.#exchange = new HttpExchange(this.#shared, this, request);
    this.#awaitsContinue = request.expectsContinue;
    if (request.bodyLength === 0) {
      this.expiresAt = this.#context.deadlines.now + lookMs;
      return true;
    }
    this.#reader.expectBody(request.bodyLength);
    this.#windowBytes = 0;
    this.expiresAt = this.#context.deadlines.now + this.#context.limits.bodyWindowMs;
    return true;
  }

  begin(): void {
    this.#exchange?.start();
  }

  shareSpent(): void {
    addWork(this.#shared.facts.source, this);
  }

  slice(): boolean {
    if (this.#reader.state === betweenRequests) this.#next();
    return true;
  }

  bodyBytes(bytes: Buffer): void {
    this.#unconsumed += bytes.length;
    this.#windowBytes += bytes.length;
    this.#awaitsContinue = false;
    if (this.#unconsumed >= readAheadBytes) this.#socket.pause();
    this.#exchange?.requestBody(bytes);
  }

  bodyEnded(trailers: FieldTable | undefined): void {
    if (!this.isBlocked) this.expiresAt = this.#context.deadlines.now + lookMs;
    this.#exchange?.requestEnded(trailers);
  }

  bodyMalformed(why: string): void {
    this.#closeAfter = true;
    this.#context.log.info("request body rejected", { reason: why, request: this.#exchange?.id });
    this.#exchange?.requestFailed("bad_request");
  }

  malformed(reason: RefusalName, why: string): void {
    answerMalformed(this.#output, this.#shared, reason, why);
    this.#end();
  }

  // Implementation of SocketReader, except `receive`.

  /**
   * Handles the client's end of input: the end of an upgraded stream's direction. In other states, the client has
   * disconnected.
   */
  ended(): void {
    if (this.#reader.state === upgraded) {
      this.#exchange?.requestEnded(undefined);
      if (this.#responseDone) this.#socket.end();
      return;
    }
    if (this.#reader.state === betweenRequests || this.#reader.state === lingering) {
      this.#end();
      return;
    }
    this.destroy();
  }

  drained(): void {
    if (!this.isBlocked) return;
    this.isBlocked = false;
    this.#stopCounting();
    if (this.#reader.state === betweenRequests) {
      this.#next();
      return;
    }
    const { deadlines, limits } = this.#context;
    this.expiresAt = deadlines.now + (this.#reader.state === inBody ? limits.bodyWindowMs : lookMs);
    this.#exchange?.clientDrained();
  }

  /** Errors of the client's socket need no handling, because `closed` follows. */
  failed(): void {}

  /**
   * Ends the exchange, with 500 if no response has begun. Then ends the connection, because the read position is
   * unknown.
   */
  broke(error: unknown): void {
    this.#closeAfter = true;
    if (this.#exchange === undefined) reportFailure("connection", error, { source: this.#shared.facts.source });
    else this.#exchange.broke(error);
    if (this.#reader.state !== lingering) this.destroy();
  }

  closed(): void {
    if (this.#reader.state === closed) return;
    this.#reader.finish(closed);
    this.#stopCounting();
    const { connections, counters } = this.#context;
    this.#watch.cancel();
    connections.delete(this);
    counters.openConnections -= 1;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.clientGone();
  }

  // Implementation of ClientSide.

  sendInterim(status: number, fields: FieldTable | undefined): void {
    if (this.#isOld || this.#responseBegun) return;
    if (status === 100) this.#awaitsContinue = false;
    this.#output.head(status, undefined, fields, undefined, "", false);
    this.#output.flush();
  }

  sendHead(
    status: number,
    reason: string | undefined,
    fields: FieldTable,
    bodyLength: number,
    requestId: TrafficId,
    upgradedTo = "",
  ): void {
    this.#responseBegun = true;
    if (status === 101) {
      this.#output.head(status, reason, fields, requestId, `Connection: Upgrade\r\nUpgrade: ${upgradedTo}\r\n`, false);
      this.#reader.state = upgraded;
      this.expiresAt = Infinity;
      for (const held of this.#reader.takeHeld()) this.bodyBytes(held);
      if (this.#unconsumed < readAheadBytes && this.#socket.isPaused()) this.#socket.resume();
      return;
    }
    const chunked = bodyLength < 0 && !this.#isOld;
    this.#untilClose = bodyLength < 0 && this.#isOld;
    this.#closeAfter ||=
      this.#reader.state === inBody ||
      this.#isRetiring ||
      this.#isDraining ||
      this.#untilClose ||
      this.#context.deadlines.now - this.#bornAt > this.#context.limits.maxConnectionAgeMs;
    let lines = chunked ? "Transfer-Encoding: chunked\r\n" : "";
    if (this.#closeAfter) lines += "Connection: close\r\n";
    else if (this.#isOld) lines += "Connection: keep-alive\r\n";
    this.#output.head(status, reason, fields, requestId, lines, chunked);
  }

  sendBody(bytes: Buffer): boolean {
    if (this.#output.body(bytes) && !this.isBlocked) return true;
    this.#blocked();
    return false;
  }

  sendEnd(trailers: FieldTable | undefined): void {
    this.#output.end(trailers);
    this.#responseDone = true;
    if (this.#reader.state === upgraded) {
      this.#output.flush();
      this.#socket.end();
      this.expiresAt = this.#context.deadlines.now + this.#context.limits.writeTimeoutMs;
      return;
    }
    this.#exchange = undefined;
    if (this.#closeAfter || this.#reader.state === inBody) {
      this.#end();
      return;
    }
    this.#reader.state = betweenRequests;
    if (this.isBlocked || this.#socket.writableNeedDrain) this.#blocked();
    else this.#next();
  }

  abort(): void {
    this.#exchange = undefined;
    if (this.#reader.state === upgraded) {
      cutSocket(this.#socket);
      this.destroy();
      return;
    }
    if (this.#untilClose) {
      // Only a reset distinguishes this response, which ends with the connection, from a complete one.
      if (this.#shared.scheme === "http") this.#socket.resetAndDestroy();
      this.destroy();
      return;
    }
    this.#output.flush();
    this.#end();
    this.#socket.destroySoon();
  }

  requestConsumed(byteCount: number): void {
    this.#unconsumed -= byteCount;
    if (this.#unconsumed < readAheadBytes && !this.#reader.hasHeld && this.#socket.isPaused()) this.#socket.resume();
  }

  // Between responses.

  /** Continues with the next request, which may already have been read. */
  #next(): void {
    if (this.#isDraining) {
      this.#end();
      return;
    }
    const { deadlines, limits } = this.#context;
    this.expiresAt = deadlines.now + limits.keepAliveMs;
    if (!this.#reader.next()) return;
    if (!this.#reader.hasHeld && this.#unconsumed < readAheadBytes && this.#socket.isPaused()) this.#socket.resume();
  }

  /** Starts the write timeout: the client reads the response more slowly than it is produced. */
  #blocked(): void {
    this.#count();
    if (this.isBlocked) return;
    this.isBlocked = true;
    this.expiresAt = this.#context.deadlines.now + this.#context.limits.writeTimeoutMs;
  }

  /** Counts the bytes that wait for the client towards the edge's maximum. */
  #count(): void {
    const exchange = this.#exchange;
    if (this.#holding === undefined && exchange === undefined) return;
    const holding = (this.#holding ??= new Holding(exchange as HttpExchange));
    holding.set(this.#output.waitingBytes);
    // Deferred past this turn, because the socket has not yet been given the bytes.
    if (holding.isTooMuch)
      setImmediate(
        makeContained(
          "connection",
          () => this.#giveUp(),
          () => this.#socket.destroy(),
        ),
      );
  }

  #stopCounting(): void {
    this.#holding?.clear();
    this.#holding = undefined;
  }

  /** Cuts the connection if more bytes wait at the edge than allowed. */
  #giveUp(): void {
    const holding = this.#holding;
    if (holding === undefined || !this.isBlocked || this.#reader.state === closed) return;
    holding.set(this.#output.waitingBytes);
    if (!holding.isTooMuch) return;
    const { log } = this.#context;
    log.info("response cut off: too much data is waiting for slow clients", { request: this.#exchange?.id });
    if (this.#shared.scheme === "http") this.#socket.resetAndDestroy();
    this.destroy();
  }

  /** Closes after the written bytes. Discards further bytes from the client for a limited time. */
  #end(): void {
    if (this.#reader.state === closed) return;
    this.#reader.finish(lingering);
    this.#output.flush();
    this.#rest = new UnreadRest(this.#context.deadlines.now);
    this.expiresAt = this.#rest.expiresAt;
    // Ending a stream twice creates an unused error with a stack.
    if (!this.#socket.writableEnded) this.#socket.end();
    if (this.#socket.readableEnded) this.#socket.destroySoon();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #drop(byteCount: number): void {
    const rest = this.#rest;
    if (rest?.drop(byteCount, this.#context.deadlines.now) !== true) return this.destroy();
    this.expiresAt = rest.expiresAt;
  }
}
