import type { FieldTable } from "../../../http1/field-table.ts";
import { GatheredBytes } from "../../../lib/gathered-bytes.ts";
import type { RequestRead } from "../../../http1/read-request.ts";
import type { ByteStream } from "../../../lib/io/byte-stream.ts";
import {
  defaultWindow,
  flag,
  frameHeaderBytes,
  frameType,
  maxFrameBytes,
  maxWindow,
  preface,
  putFrameHeader,
  putUint32,
  setting,
} from "../../../http2/http2-frames.ts";
import { PeerSettings, renderSettings } from "../../../http2/peer-settings.ts";
import { renderRequestHead, renderTrailers } from "./write-request-head.ts";
import type { RequestSink } from "./request-reader.ts";
import { noBytes } from "../../../lib/no-bytes.ts";

/**
 * Number of unconsumed response bytes that the service may send. The connection carries one request, so it also applies
 * to the connection.
 */
export const windowBytes = 1024 * 1024;
/** Maximum number of request bytes that wait for the service's windows before the sender must wait. */
const maxQueuedBytes = 64 * 1024;

/** Sends requests to the service one after another within its windows, and the connection's own frames. */
export class RequestSender implements RequestSink {
  readonly peer = new PeerSettings();
  /** Stream of the current or last request. */
  streamId = -1;
  /** Whether there is a request whose response has not ended. */
  isOpen = false;
  readonly #stream: Pick<ByteStream, "write">;
  readonly #begins: (head: RequestRead) => string;
  #fault = "";
  #greeted = false;
  #window = defaultWindow;
  #streamWindow = defaultWindow;
  readonly #queue = new GatheredBytes();
  /** End to send after the queue. */
  #ending: { readonly trailers: FieldTable | undefined } | undefined;
  #isBlocked = false;
  #isHeld = false;

  /** @param begins called with each request before it is sent. It returns why the request is not possible, or "" */
  constructor(stream: Pick<ByteStream, "write">, begins: (head: RequestRead) => string) {
    this.#stream = stream;
    this.#begins = begins;
  }

  /** Why a request could not be sent, or "". */
  get fault(): string {
    return this.#fault;
  }

  /** Whether more may be written. If not, the caller must wait for `drained`. */
  get hasRoom(): boolean {
    this.#isHeld = this.#queue.length > maxQueuedBytes || this.#isBlocked;
    return !this.#isHeld;
  }

  requestHead(head: RequestRead, hasBody: boolean): void {
    this.#fault ||= this.#begins(head);
    if (this.#fault !== "") return;
    if (!this.#greeted) this.#greet();
    this.streamId += 2;
    this.isOpen = true;
    this.#streamWindow = this.peer.initialWindow;
    this.#queue.clear();
    this.#ending = undefined;
    this.#send(renderRequestHead(this.streamId, head, !hasBody, this.#tableShrunk()));
  }

  requestBody(bytes: Buffer): void {
    if (this.#fault !== "") return;
    this.#queue.add(bytes);
    this.#pump();
  }

  requestEnd(trailers: FieldTable | undefined): void {
    if (this.#fault !== "") return;
    this.#ending = { trailers };
    this.#pump();
  }

  /** Writes a frame with a short payload. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    const frame = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
    frame.set(payload, putFrameHeader(frame, 0, payload.length, type, flags, streamId));
    this.#send(frame);
  }

  /** Sends WINDOW_UPDATE. */
  credit(streamId: number, byteCount: number): void {
    const payload = Buffer.allocUnsafe(4);
    putUint32(payload, 0, byteCount);
    this.frame(frameType.windowUpdate, 0, streamId, payload);
  }

  /** Applies a change of the service's initial window. Returns false if a window becomes too large. */
  widen(change: number): boolean {
    this.#streamWindow += change;
    this.#pump();
    return this.#streamWindow <= maxWindow;
  }

  /** Applies the service's WINDOW_UPDATE. Returns its error, or "". */
  widenBy(streamId: number, increment: number): string {
    if (increment === 0) return "a WINDOW_UPDATE of 0 bytes";
    if (streamId === 0) this.#window += increment;
    else if (streamId === this.streamId) this.#streamWindow += increment;
    if (Math.max(this.#window, this.#streamWindow) > maxWindow) return "window too large";
    this.#pump();
    return "";
  }

  /** Called when the stream has drained. Returns true if a waiting sender may continue. */
  drained(): boolean {
    this.#isBlocked = false;
    return this.goesOn();
  }

  goesOn(): boolean {
    this.#pump();
    if (!this.#isHeld || this.#isBlocked || this.#queue.length > maxQueuedBytes) return false;
    this.#isHeld = false;
    return true;
  }

  #greet(): void {
    this.#greeted = true;
    this.#send(preface);
    const settings = renderSettings([
      [setting.enablePush, 0],
      [setting.initialWindowSize, windowBytes],
    ]);
    this.frame(frameType.settings, 0, 0, settings);
    this.credit(0, windowBytes - defaultWindow);
  }

  #pump(): void {
    while (this.#queue.length > 0 && !this.#isBlocked) {
      const room = Math.min(this.#window, this.#streamWindow, maxFrameBytes);
      if (room <= 0) return;
      const part = this.#queue.takeFirst(room);
      this.#window -= part.length;
      this.#streamWindow -= part.length;
      this.#data(part);
    }
    if (this.#queue.length === 0 && this.#ending) this.#end(this.#ending.trailers);
  }

  #data(part: Buffer): void {
    const header = Buffer.allocUnsafe(frameHeaderBytes);
    const isLast = this.#queue.length === 0 && this.#ending !== undefined && this.#ending.trailers === undefined;
    putFrameHeader(header, 0, part.length, frameType.data, isLast ? flag.endStream : 0, this.streamId);
    if (isLast) this.#ending = undefined;
    this.#send(header);
    this.#send(part);
  }

  #end(trailers: FieldTable | undefined): void {
    this.#ending = undefined;
    if (trailers) this.#send(renderTrailers(this.streamId, trailers, this.#tableShrunk()));
    else this.frame(frameType.data, flag.endStream, this.streamId, noBytes);
  }

  /** Returns true once, for the next header block (RFC 7541 §4.2). */
  #tableShrunk(): boolean {
    const { tableShrunk } = this.peer;
    this.peer.tableShrunk = false;
    return tableShrunk;
  }

  #send(bytes: Buffer): void {
    if (!this.#stream.write(bytes)) this.#isBlocked = true;
  }
}
