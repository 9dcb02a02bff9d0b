import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { makeContained } from "../../lib/boundary.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { ReceiveWindow } from "../../lib/io/receive-window.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import type { RosterMember } from "../../lib/collections/roster.ts";
import type { ClientSide } from "../http/client-side.ts";
import { HttpExchange } from "../http/http-exchange.ts";
import { Holding } from "../http/exchange-holding.ts";
import type { ReceivedRequest } from "../http/received-request.ts";
import type { ClientConnection } from "../http/visitor-connection.ts";
import { errorCode, frameType, maxFrameBytes } from "../../http2/http2-frames.ts";
import type { Http2Output } from "./output.ts";

/** Maximum number of response bytes that wait for the client's window on a stream. Beyond it the pipeline waits. */
const maxQueuedBytes = 32 * 1024;

/** Interface of the connection for its streams. */
export interface StreamOwner {
  readonly output: Http2Output;
  /** Number of DATA bytes that the connection's window and the socket allow now. */
  readonly room: number;
  /** Limits the growth of the windows of request bodies. */
  readonly windows: WindowBudget;
  /** Called after DATA was sent in one frame. */
  spent(byteCount: number): void;
  /** Called when body bytes were consumed, for the connection's receive window. */
  credited(byteCount: number): void;
  /** Called when the stream has bytes that wait for room. */
  waits(stream: Http2Stream): void;
  /** Called when the stream is answered and its client has not ended it. */
  answered(stream: Http2Stream): void;
  /** Called when the stream is over. */
  gone(stream: Http2Stream): void;
}

/** One request and response on an HTTP/2 connection: the client side of an exchange. */
export class Http2Stream implements ClientSide, RosterMember {
  readonly id: number;
  place = -1;
  readonly exchange: HttpExchange;
  /** Number of bytes that the client allows on the stream. */
  sendWindow: number;
  remoteEnded: boolean;
  /** Whether we ended the stream before the client did. */
  isReset = false;
  /** Whether the response head was sent. */
  responseBegun = false;
  /** Time since which bytes have waited for the client's windows, in `Deadlines.now`. Infinity if none wait. */
  stalledSince = Infinity;
  /**
   * Like `stalledSince`, but not reset when the client accepts some bytes. `takenBytes` counts the bytes accepted since
   * then.
   */
  waitingSince = Infinity;
  takenBytes = 0;
  /** Number of body bytes since `bodySince`, which is in `Deadlines.now`. */
  windowBytes = 0;
  bodySince: number;
  readonly #owner: StreamOwner;
  /** Remaining bytes of the body, or -1 if unknown. 0 does not end the stream. */
  #expected: number;
  /** Whether the exchange waits for a body or its end. */
  readonly #hasBody: boolean;
  /** Remaining bytes of the response, or -1 if unknown. */
  #promised = -1;
  /** Receive window. Created when the client sends body bytes. */
  #window: ReceiveWindow | undefined;
  /** Number of bytes passed to the exchange and not yet credited. */
  #outstanding = 0;
  /** Bytes that wait for room, counted towards the edge's maximum. Usually absent. */
  #queue: GatheredBytes | undefined;
  #holding: Holding | undefined;
  #isHeld = false;
  /** Whether the client waits for 100 before it sends its body. */
  #awaitsContinue: boolean;
  /** Whether the client requests a WebSocket. Such a client sends no body and keeps the stream open. */
  readonly #isConnect: boolean;
  /** Whether both directions carry the bytes of a WebSocket. */
  #isUpgraded = false;
  #localEnded = false;
  /** End to send after the queue, with or without trailers. */
  #ending: { readonly trailers: FieldTable | undefined } | undefined;
  #isGone = false;

  /** @param endStream whether the client ended the stream with its head */
  constructor(
    id: number,
    owner: StreamOwner,
    shared: ClientConnection,
    request: ReceivedRequest,
    endStream: boolean,
    sendWindow: number,
  ) {
    this.id = id;
    this.#owner = owner;
    this.sendWindow = sendWindow;
    this.bodySince = shared.context.deadlines.now;
    this.remoteEnded = endStream;
    this.#isConnect = request.websocket;
    this.#hasBody = request.bodyLength !== 0 || request.websocket;
    this.#expected = request.websocket ? -1 : request.bodyLength;
    this.#awaitsContinue = request.expectsContinue;
    this.exchange = new HttpExchange(shared, this, request);
  }

  /** Whether the client has body bytes to send and room to send them. */
  get awaitsBody(): boolean {
    if (this.remoteEnded || !this.#hasBody) return false;
    return !this.responseBegun && !this.#awaitsContinue && this.#window?.credit !== 0;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether bytes wait for room. */
  get hasQueue(): boolean {
    return this.#queued > 0;
  }

  get #queued(): number {
    return this.#queue?.length ?? 0;
  }

  // Input from the client.

  /** Begins a DATA frame. Returns false if it exceeds the stream's window. */
  announced(byteCount: number): boolean {
    this.#window ??= new ReceiveWindow(this.#owner.windows);
    return this.#window.arrive(byteCount);
  }

  /** Returns false if the body is longer than its Content-Length (RFC 9113 §8.1.1). */
  receive(bytes: Buffer): boolean {
    const { length } = bytes;
    if (this.#expected >= 0) {
      this.#expected -= length;
      if (this.#expected < 0) return false;
    }
    this.windowBytes += length;
    this.#awaitsContinue = false;
    this.#outstanding += length;
    this.exchange.requestBody(bytes);
    return true;
  }

  /** Credits bytes that need no consumer, such as padding. */
  skipped(byteCount: number): void {
    this.#outstanding += byteCount;
    this.requestConsumed(byteCount);
  }

  /** Returns false if the body is shorter than its Content-Length. */
  receiveEnd(trailers: FieldTable | undefined): boolean {
    if (this.#expected > 0) return false;
    this.remoteEnded = true;
    this.#closeWindow();
    if (!this.#isGone && this.#hasBody) this.exchange.requestEnded(trailers);
    if (this.#localEnded) this.#close();
    return true;
  }

  /** Called when the client has reset the stream or the connection is over. */
  lost(): void {
    if (this.#isGone) return;
    this.#close();
    this.exchange.clientGone();
  }

  /** Ends the stream from this side after an error of either side. */
  reset(code: number): void {
    if (this.#isGone) return;
    this.#sendReset(code);
    this.lost();
  }

  /** Handles an error of code that processed the stream: answers 500 or resets the stream. */
  broke(error: unknown): void {
    this.exchange.broke(error);
    this.reset(errorCode.internalError);
  }

  // Implementation of ClientSide.

  sendInterim(status: number, fields: FieldTable | undefined): void {
    if (this.#isGone || this.responseBegun) return;
    if (status === 100) this.#awaitsContinue = false;
    this.#owner.output.head(this.id, status, fields, undefined, false);
  }

  sendHead(
    status: number,
    _reason: string | undefined,
    fields: FieldTable,
    bodyLength: number,
    requestId: TrafficId,
  ): void {
    if (this.#isGone) return;
    this.responseBegun = true;
    if (status === 101) {
      // RFC 8441 §5: the stream itself is the WebSocket.
      this.#isUpgraded = true;
      fields.delete("sec-websocket-accept");
      this.#owner.output.head(this.id, 200, fields, requestId, false);
      return;
    }
    this.#promised = bodyLength;
    this.#owner.output.head(this.id, status, fields, requestId, bodyLength === 0);
    if (bodyLength === 0) this.#localEnded = true;
  }

  sendBody(bytes: Buffer): boolean {
    if (this.#isGone || bytes.length === 0) return true;
    if (this.#promised > 0) this.#promised -= bytes.length;
    const owner = this.#owner;
    if (this.#queued === 0 && bytes.length <= maxFrameBytes && bytes.length <= Math.min(this.sendWindow, owner.room)) {
      this.#send(bytes, this.#promised === 0);
      return true;
    }
    const queue = (this.#queue ??= new GatheredBytes());
    const holding = (this.#holding ??= new Holding(this.exchange));
    queue.add(bytes);
    holding.add(bytes.length);
    this.pump(Infinity);
    if (queue.length > 0) {
      owner.waits(this);
      // Deferred, because the exchange must not be cut while it is sending.
      if (holding.isTooMuch)
        queueMicrotask(
          makeContained(
            "stream",
            () => this.#giveUp(),
            () => this.reset(errorCode.internalError),
          ),
        );
    }
    this.#isHeld = queue.length >= maxQueuedBytes || owner.output.isFull;
    return !this.#isHeld;
  }

  sendEnd(trailers: FieldTable | undefined): void {
    if (this.#isGone) return;
    if (this.#queued > 0) {
      this.#ending = { trailers };
      return;
    }
    this.#end(trailers);
  }

  abort(): void {
    if (this.#isGone) return;
    // RFC 8441 §5: equivalent to a TCP reset.
    this.#sendReset(this.#isUpgraded ? errorCode.cancel : errorCode.internalError);
    this.#close();
  }

  requestConsumed(byteCount: number): void {
    if (this.#isGone) return;
    this.#outstanding -= byteCount;
    const increment = this.remoteEnded ? 0 : (this.#window?.consumed(byteCount) ?? 0);
    if (this.remoteEnded) this.#closeWindow();
    if (increment > 0) this.#owner.output.number(frameType.windowUpdate, this.id, increment);
    this.#owner.credited(byteCount);
  }

  /**
   * Returns the growth of the window to the budget, because all received bytes were consumed and no more will arrive.
   */
  #closeWindow(): void {
    if (this.#outstanding === 0) this.#window?.close();
  }

  // Output to the client.

  /** Sends waiting bytes in at most `maxFrames` frames. Returns whether more room would let it continue. */
  pump(maxFrames: number): boolean {
    for (let frames = 0; frames < maxFrames && this.#queue !== undefined && this.#queued > 0; frames += 1) {
      const room = Math.min(this.sendWindow, this.#owner.room, maxFrameBytes);
      if (room <= 0) break;
      const part = this.#queue.takeFirst(room);
      this.#holding?.remove(part.length);
      this.takenBytes += part.length;
      this.#send(part, this.#queued === 0 && this.#promised === 0);
    }
    if (this.#queued > 0) return true;
    this.stalledSince = this.waitingSince = Infinity;
    if (this.#ending !== undefined) this.#end(this.#ending.trailers);
    return false;
  }

  /** Continues after room became available. Resumes a waiting pipeline. */
  resume(): void {
    if (!this.#isHeld || this.#queued >= maxQueuedBytes || this.#isGone) return;
    this.#isHeld = false;
    this.exchange.clientDrained();
  }

  /** Cuts the stream if more bytes wait at the edge than allowed. */
  #giveUp(): void {
    if (this.#isGone) return;
    const { id, shared } = this.exchange;
    shared.context.log.info("response cut off: too much data is waiting for slow clients", { request: id });
    this.reset(errorCode.enhanceYourCalm);
  }

  #send(bytes: Buffer, endStream: boolean): void {
    this.sendWindow -= bytes.length;
    this.#owner.output.data(this.id, bytes, endStream);
    this.#owner.spent(bytes.length);
    if (endStream) this.#localEnded = true;
  }

  #end(trailers: FieldTable | undefined): void {
    const { output } = this.#owner;
    if (!this.#localEnded) {
      this.#localEnded = true;
      if (trailers === undefined || trailers.byteBound === 0) output.endStream(this.id);
      else output.head(this.id, 0, trailers, undefined, true);
    }
    const isCutOff = !this.remoteEnded;
    // The client may still send bytes and its own end.
    if (isCutOff && this.#isUpgraded && !this.exchange.isOver) return;
    if (isCutOff && this.#isConnect && !this.#isUpgraded) this.#sendReset(errorCode.noError);
    else if (isCutOff) this.#owner.answered(this);
    this.#close();
    if (isCutOff) this.exchange.requestEnded(undefined);
  }

  #sendReset(code: number): void {
    this.isReset = true;
    this.#owner.output.number(frameType.rstStream, this.id, code);
  }

  #close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#queue?.clear();
    this.#holding?.clear();
    this.#window?.close();
    if (this.#outstanding > 0) this.#owner.credited(this.#outstanding);
    this.#owner.gone(this);
  }
}
