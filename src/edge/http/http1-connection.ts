import type { Socket } from "node:net";
import { BodyReader } from "../../http1/body-reader.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { fault, targetTooLong, tooLarge } from "../../http1/read-fields.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { ConnectionFacts } from "../../modules/exchange.ts";
import { renderAnswer } from "./answer.ts";
import { ClientConnection } from "./client-connection.ts";
import type { ClientSide } from "./client-side.ts";
import type { HttpContext, ServedConnection, SiteLookup } from "./context.ts";
import type { Timed } from "./deadlines.ts";
import { HttpExchange } from "./exchange.ts";
import { Http1Output } from "./http1-output.ts";
import { receiveHttp1 } from "./http1-request.ts";
import { newRequestId } from "./request-id.ts";

/** Request body bytes read ahead of what was taken on, at which the socket is no longer read. */
const readAheadBytes = 64 * 1024;
/**
 * After a response that leaves the request unread: how long, and how much, is still read and thrown away, so that
 * the client gets to see the response before a reset.
 */
const lingerMs = 5_000;
const lingerBytes = 1024 * 1024;

const betweenRequests = 0;
const inHead = 1;
const inBody = 2;
const awaitingResponse = 3;
const upgraded = 4;
const lingering = 5;
const closed = 6;

/**
 * Serves HTTP/1.1 on a connected socket, after the TLS handshake where there is one. `sites` is asked for each
 * request, so that a change applies to the next request on an open connection. The socket must have been made
 * with `allowHalfOpen: true`; it belongs to the connection from here on.
 *
 * @param first bytes that were read from the socket already
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

class Http1Connection implements ClientSide, ServedConnection, Timed {
  expiresAt: number;
  readonly #socket: Socket;
  readonly #shared: ClientConnection;
  readonly #context: HttpContext;
  readonly #output: Http1Output;
  readonly #body = new BodyReader();
  readonly #bornAt: number;
  #state = betweenRequests;
  #exchange: HttpExchange | undefined;
  #isReading = false;
  /** A head that did not come whole. */
  #head: HeadBuffer | undefined;
  /** What was read behind the present request. */
  #held: Buffer[] = [];
  #isOld = false;
  #closeAfter = false;
  #isDraining = false;
  #responseBegun = false;
  #responseDone = false;
  /** The response ends with the connection. */
  #untilClose = false;
  /** The client holds its body back until it is told to go on. */
  #awaitsContinue = false;
  /** Waiting for the socket to drain. */
  #isBlocked = false;
  #unconsumed = 0;
  #windowBytes = 0;
  #lingered = 0;

  constructor(socket: Socket, shared: ClientConnection) {
    const { context } = shared;
    this.#socket = socket;
    this.#shared = shared;
    this.#context = context;
    this.#output = new Http1Output(socket);
    this.#bornAt = context.deadlines.now;
    this.expiresAt = this.#bornAt + context.limits.headTimeoutMs;
    context.deadlines.add(this);
    context.connections.add(this);
    context.counters.openConnections += 1;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
    socket.on("end", () => this.#ended());
    socket.on("drain", () => this.#drained());
    // What went wrong with a client's socket is nobody's business here: "close" follows.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
  }

  receive(bytes: Buffer): void {
    switch (this.#state) {
      case upgraded:
        this.#bodyBytes(bytes);
        return;
      case lingering:
        if ((this.#lingered += bytes.length) > lingerBytes) this.destroy();
        return;
      case closed:
        return;
      default:
        this.#read(bytes);
    }
  }

  drain(): void {
    this.#isDraining = true;
    if (this.#state === betweenRequests) this.#end();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#closed();
  }

  expired(): void {
    const { limits, deadlines } = this.#context;
    switch (this.#state) {
      case inHead:
        this.#refuse("request_timeout", "head not complete in time");
        return;
      case inBody:
        if (this.#isBlocked) break;
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
        this.expiresAt = deadlines.now + limits.bodyWindowMs;
        return;
      case awaitingResponse:
      case upgraded:
        if (!this.#isBlocked && !this.#responseDone) {
          this.expiresAt = Infinity;
          return;
        }
    }
    this.destroy();
  }

  // Reading.

  #read(first: Buffer): void {
    if (this.#isReading) {
      this.#held.push(first);
      return;
    }
    this.#isReading = true;
    let bytes: Buffer | undefined = first;
    while (bytes !== undefined) {
      const at = this.#advance(bytes);
      if (at < bytes.length) {
        this.#held.unshift(at === 0 ? bytes : bytes.subarray(at));
        this.#socket.pause();
        break;
      }
      bytes = this.#held.shift();
    }
    this.#isReading = false;
  }

  /** Reads as far as it may; what is left waits for the response. */
  #advance(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case betweenRequests:
        case inHead:
          if (this.#isBlocked) return at;
          at = this.#readHead(bytes, at);
          break;
        case inBody:
          at = this.#readBody(bytes, at);
          break;
        case upgraded:
          this.#bodyBytes(at === 0 ? bytes : bytes.subarray(at));
          return bytes.length;
        case awaitingResponse:
          return at;
        default:
          return bytes.length;
      }
    }
    return at;
  }

  #readHead(chunk: Buffer, from: number): number {
    const { limits, deadlines } = this.#context;
    let bytes = chunk;
    let start = from;
    const kept = this.#head;
    const before = kept?.length ?? 0;
    if (kept !== undefined) {
      if (!kept.add(from === 0 ? chunk : chunk.subarray(from), limits.maxHeadBytes)) return chunk.length;
      bytes = kept.bytes();
      start = 0;
    }
    const head = readRequestHead(bytes, start, limits);
    if (head === undefined) {
      if (kept === undefined) {
        this.#head = new HeadBuffer();
        this.#head.add(chunk.subarray(from), limits.maxHeadBytes);
        this.#state = inHead;
        this.expiresAt = deadlines.now + limits.headTimeoutMs;
      }
      return chunk.length;
    }
    if ("outcome" in head) {
      const names = { [tooLarge]: "headers_too_large", [targetTooLong]: "uri_too_long" } as const;
      this.#refuse(
        head.outcome === tooLarge || head.outcome === targetTooLong ? names[head.outcome] : "bad_request",
        head.reason,
      );
      return chunk.length;
    }
    this.#head = undefined;
    const used = kept === undefined ? head.end : from + head.end - before;
    return this.#begin(head, chunk, used);
  }

  /** Starts the exchange of a head, with what there is of its body. Returns how far it came. */
  #begin(head: RequestRead, bytes: Buffer, from: number): number {
    const { fields } = head;
    const { limits, deadlines } = this.#context;
    const request = receiveHttp1(head, this.#shared.scheme);
    if (typeof request === "string") {
      this.#refuse("bad_request", request);
      return bytes.length;
    }
    this.#isOld = head.minorVersion === 0;
    this.#closeAfter = fields.connectionClose || (this.#isOld && !fields.connectionKeepAlive);
    this.#responseBegun = false;
    this.#responseDone = false;
    const { bodyLength, expectsContinue } = request;
    const exchange = new HttpExchange(this.#shared, this, request);
    this.#exchange = exchange;
    this.#awaitsContinue = expectsContinue;
    let at = from;
    if (bodyLength === 0) {
      this.#state = awaitingResponse;
      this.expiresAt = Infinity;
    } else {
      if (bodyLength < 0) this.#body.startChunked();
      else this.#body.startLength(bodyLength);
      this.#state = inBody;
      this.#windowBytes = 0;
      this.expiresAt = deadlines.now + limits.bodyWindowMs;
      if (at < bytes.length) at = this.#readBody(bytes, at);
    }
    exchange.start();
    return at;
  }

  #readBody(bytes: Buffer, start: number): number {
    const body = this.#body;
    let at = start;
    while (at < bytes.length && !body.done) {
      const next = body.step(bytes, at);
      if (next < 0) {
        this.#closeAfter = true;
        this.#context.log.info("request body refused", { reason: fault, request: this.#exchange?.id });
        this.#exchange?.requestFailed("bad_request");
        return bytes.length;
      }
      at = next;
      const { pieceStart, pieceEnd } = body;
      if (pieceEnd === pieceStart) continue;
      this.#bodyBytes(pieceStart === 0 && pieceEnd === bytes.length ? bytes : bytes.subarray(pieceStart, pieceEnd));
      // An answer may have ended the exchange, and with it the reading of this body.
      if (this.#state !== inBody) return bytes.length;
    }
    if (!body.done) return at;
    this.#state = awaitingResponse;
    this.expiresAt = this.#isBlocked ? this.expiresAt : Infinity;
    this.#exchange?.requestEnded(body.trailers);
    return at;
  }

  #bodyBytes(bytes: Buffer): void {
    this.#unconsumed += bytes.length;
    this.#windowBytes += bytes.length;
    this.#awaitsContinue = false;
    if (this.#unconsumed >= readAheadBytes) this.#socket.pause();
    this.#exchange?.requestBody(bytes);
  }

  /** The client sends no more: the end of an upgraded stream's direction, else the client has gone away. */
  #ended(): void {
    if (this.#state === upgraded) {
      this.#exchange?.requestEnded(undefined);
      if (this.#responseDone) this.#socket.end();
      return;
    }
    if (this.#state === betweenRequests || this.#state === lingering) {
      this.#end();
      return;
    }
    this.destroy();
  }

  // ClientSide.

  sendInterim(status: number, fields: FieldTable | undefined): void {
    if (this.#isOld || this.#responseBegun) return;
    if (status === 100) this.#awaitsContinue = false;
    this.#output.head(status, undefined, fields, "", false);
    this.#output.flush();
  }

  sendHead(
    status: number,
    reason: string | undefined,
    fields: FieldTable,
    bodyLength: number,
    requestId: string,
  ): void {
    this.#responseBegun = true;
    if (status === 101) {
      this.#output.head(status, reason, fields, upgradeLines(requestId), false);
      this.#state = upgraded;
      this.expiresAt = Infinity;
      for (const held of this.#held.splice(0)) this.#bodyBytes(held);
      if (this.#unconsumed < readAheadBytes && this.#socket.isPaused()) this.#socket.resume();
      return;
    }
    const chunked = bodyLength < 0 && !this.#isOld;
    this.#untilClose = bodyLength < 0 && this.#isOld;
    this.#closeAfter ||=
      this.#state === inBody ||
      this.#isDraining ||
      this.#untilClose ||
      this.#context.deadlines.now - this.#bornAt > this.#context.limits.maxConnectionAgeMs;
    let lines = `x-request-id: ${requestId}\r\n`;
    if (chunked) lines += "Transfer-Encoding: chunked\r\n";
    if (this.#closeAfter) lines += "Connection: close\r\n";
    else if (this.#isOld) lines += "Connection: keep-alive\r\n";
    this.#output.head(status, reason, fields, lines, chunked);
  }

  sendBody(bytes: Buffer): boolean {
    if (this.#output.body(bytes)) return true;
    this.#blocked();
    return false;
  }

  sendEnd(trailers: FieldTable | undefined): void {
    this.#output.end(trailers);
    this.#responseDone = true;
    if (this.#state === upgraded) {
      this.#socket.end();
      this.expiresAt = this.#context.deadlines.now + this.#context.limits.writeTimeoutMs;
      return;
    }
    this.#exchange = undefined;
    if (this.#closeAfter || this.#state === inBody) {
      this.#end();
      return;
    }
    this.#state = betweenRequests;
    if (this.#socket.writableNeedDrain) this.#blocked();
    else this.#next();
  }

  abort(): void {
    this.#exchange = undefined;
    if (this.#untilClose) {
      // Only a reset tells this response, which ends with the connection, from a complete one.
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
    if (this.#unconsumed < readAheadBytes && this.#held.length === 0 && this.#socket.isPaused()) this.#socket.resume();
  }

  // What follows a response.

  /** Goes on with the next request, which may have been read already. */
  #next(): void {
    if (this.#isDraining) {
      this.#end();
      return;
    }
    const { deadlines, limits } = this.#context;
    this.expiresAt = deadlines.now + limits.keepAliveMs;
    if (this.#isReading) return;
    const held = this.#held.shift();
    if (held !== undefined) this.#read(held);
    if (this.#held.length === 0 && this.#unconsumed < readAheadBytes && this.#socket.isPaused()) this.#socket.resume();
  }

  #blocked(): void {
    this.#isBlocked = true;
    this.expiresAt = this.#context.deadlines.now + this.#context.limits.writeTimeoutMs;
  }

  #drained(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    if (this.#state === betweenRequests) {
      this.#next();
      return;
    }
    this.expiresAt =
      this.#state === inBody ? this.#context.deadlines.now + this.#context.limits.bodyWindowMs : Infinity;
    this.#exchange?.clientDrained();
  }

  /** Answers what cannot become an exchange, and closes: where the next request starts is not known (W1). */
  #refuse(reason: RefusalName, why: string): void {
    const { context } = this.#shared;
    const id = newRequestId(context.clock.now());
    context.counters.malformed += 1;
    context.log.info("request refused", { reason: why, source: this.#shared.facts.source, request: id });
    const facts = { id, method: "GET", accept: undefined };
    const { status, fields, body } = renderAnswer({ error: reason }, facts, context.clock.now());
    this.#output.head(status, undefined, fields, `x-request-id: ${id}\r\nConnection: close\r\n`, false);
    this.#output.body(body);
    this.#output.end(undefined);
    this.#end();
  }

  /** Closes behind what was written; what the client still sends is thrown away for a while. */
  #end(): void {
    if (this.#state === closed) return;
    this.#held = [];
    this.#head = undefined;
    this.#state = lingering;
    this.expiresAt = this.#context.deadlines.now + lingerMs;
    // Ending a stream twice makes an error, stack and all, for nobody.
    if (!this.#socket.writableEnded) this.#socket.end();
    if (this.#socket.readableEnded) this.#socket.destroySoon();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #closed(): void {
    if (this.#state === closed) return;
    this.#state = closed;
    this.#held = [];
    this.#head = undefined;
    const { deadlines, connections, counters } = this.#context;
    deadlines.delete(this);
    connections.delete(this);
    counters.openConnections -= 1;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.clientGone();
  }
}

function upgradeLines(requestId: string): string {
  return `x-request-id: ${requestId}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
}
