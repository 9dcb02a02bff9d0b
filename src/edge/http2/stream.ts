import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { contained } from "../../lib/boundary.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { ReceiveWindow } from "../../lib/io/receive-window.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import type { Listed } from "../../lib/collections/roster.ts";
import type { ClientSide } from "../http/client-side.ts";
import { HttpExchange } from "../http/exchange.ts";
import { Holding } from "../http/holding.ts";
import type { ReceivedRequest } from "../http/received-request.ts";
import type { ClientConnection } from "../http/client-connection.ts";
import { errorCode, frameType, maxFrameBytes } from "../../http2/frames.ts";
import type { Http2Output } from "./output.ts";

/** Response bytes kept for a stream that its client's windows do not let out; beyond it the pipeline holds on. */
const maxQueuedBytes = 32 * 1024;

/** What a stream asks of its connection. */
export interface StreamOwner {
  readonly output: Http2Output;
  /** Bytes of DATA that the connection's window and the socket let out now. */
  readonly room: number;
  /** How far the windows of request bodies may grow. */
  readonly windows: WindowBudget;
  /** Bytes of DATA were sent, in one frame. */
  spent(byteCount: number): void;
  /** Body bytes that need no more room in the connection's receive window. */
  credited(byteCount: number): void;
  /** The stream has bytes that wait for room. */
  waits(stream: Http2Stream): void;
  /** The stream is answered, and its client has not ended it. */
  answered(stream: Http2Stream): void;
  /** The stream is over. */
  gone(stream: Http2Stream): void;
}

/** One request and response on an HTTP/2 connection: the front of an exchange. */
export class Http2Stream implements ClientSide, Listed {
  readonly id: number;
  place = -1;
  readonly exchange: HttpExchange;
  /** What the client lets us send. */
  sendWindow: number;
  remoteEnded: boolean;
  /** We have ended the stream before the client has. */
  isReset = false;
  /** The response head was sent. */
  responseBegun = false;
  /** In `Deadlines.now`: since when bytes have been waiting for the client's windows; Infinity when none are. */
  stalledSince = Infinity;
  /** The same, however little the client lets out, and `takenBytes` is what it has let out since. */
  waitingSince = Infinity;
  takenBytes = 0;
  /** Body bytes since `bodySince`, which is in `Deadlines.now`. */
  windowBytes = 0;
  bodySince: number;
  readonly #owner: StreamOwner;
  /** Bytes of the body still to come; -1 when unknown. That they have come does not end the stream. */
  #expected: number;
  /** The exchange waits for a body, or for its end. */
  readonly #hasBody: boolean;
  /** Bytes of the response still to be given to us; -1 when unknown. */
  #promised = -1;
  /** What we let the client send; there is none before it has sent any. */
  #window: ReceiveWindow | undefined;
  /** Handed to the exchange and not credited yet. */
  #outstanding = 0;
  /** What waits for room, and its part of what the edge holds; there mostly is none. */
  #queue: GatheredBytes | undefined;
  #holding: Holding | undefined;
  #isHeld = false;
  /** The client holds its body back until it is told to go on. */
  #awaitsContinue: boolean;
  /** The client asks for a WebSocket: it sends no body, and waits with the stream open. */
  readonly #isConnect: boolean;
  /** Both directions are the bytes of a WebSocket. */
  #isUpgraded = false;
  #localEnded = false;
  /** What to send behind the queue: an end, with or without trailers. */
  #ending: { readonly trailers: FieldTable | undefined } | undefined;
  #isGone = false;

  /** @param endStream the client has ended the stream with its head */
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

  /** The client has body bytes to send, and room to send them. */
  get awaitsBody(): boolean {
    if (this.remoteEnded || !this.#hasBody) return false;
    return !this.responseBegun && !this.#awaitsContinue && this.#window?.credit !== 0;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Bytes that wait for room. */
  get hasQueue(): boolean {
    return this.#queued > 0;
  }

  get #queued(): number {
    return this.#queue?.length ?? 0;
  }

  // From the client.

  /** A frame of DATA begins. False when there was no room for so many bytes in the stream's window. */
  announced(byteCount: number): boolean {
    this.#window ??= new ReceiveWindow(this.#owner.windows);
    return this.#window.arrive(byteCount);
  }

  /** False when the body is longer than its Content-Length (RFC 9113 §8.1.1). */
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

  /** Padding and the like: bytes that nobody has to take on. */
  skipped(byteCount: number): void {
    this.#outstanding += byteCount;
    this.requestConsumed(byteCount);
  }

  /** False when the body is shorter than its Content-Length. */
  receiveEnd(trailers: FieldTable | undefined): boolean {
    if (this.#expected > 0) return false;
    this.remoteEnded = true;
    this.#closeWindow();
    if (!this.#isGone && this.#hasBody) this.exchange.requestEnded(trailers);
    if (this.#localEnded) this.#close();
    return true;
  }

  /** The client has reset the stream, or the connection is over. */
  lost(): void {
    if (this.#isGone) return;
    this.#close();
    this.exchange.clientGone();
  }

  /** Ends the stream from this side, for the client's fault or ours. */
  reset(code: number): void {
    if (this.#isGone) return;
    this.#sendReset(code);
    this.lost();
  }

  /** Code that acted on the stream threw: answers 500 or resets the stream. */
  broke(error: unknown): void {
    this.exchange.broke(error);
    this.reset(errorCode.internalError);
  }

  // ClientSide.

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
      // Not from inside of the exchange that is just sending.
      if (holding.isTooMuch)
        queueMicrotask(
          contained(
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
    // RFC 8441 §5: what TCP says by a reset.
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

  /** Nothing more comes, and all that came was taken on: what the window had grown by is others'. */
  #closeWindow(): void {
    if (this.#outstanding === 0) this.#window?.close();
  }

  // Towards the client.

  /** Sends what waits, at most `maxFrames` frames. Returns whether it could go on with more room. */
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

  /** There is room again: the pipeline goes on when it was held. */
  resume(): void {
    if (!this.#isHeld || this.#queued >= maxQueuedBytes || this.#isGone) return;
    this.#isHeld = false;
    this.exchange.clientDrained();
  }

  /** More waits at the edge than may. */
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
    // The client still has its own end to send, and what comes before it.
    if (isCutOff && this.#isUpgraded) return;
    if (isCutOff && this.#isConnect) this.#sendReset(errorCode.noError);
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
