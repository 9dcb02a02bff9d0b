import type { Socket } from "node:net";
import { BodyReader } from "../../http1/body-reader.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { fault, targetTooLong, tooLarge } from "../../http1/read-fields.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { beginShare, spendShare } from "../../lib/slices.ts";
import type { HttpLimits } from "./http-context.ts";

/** States of an HTTP/1.1 connection. */
export const betweenRequests = 0;
export const inHead = 1;
export const inBody = 2;
export const awaitingResponse = 3;
export const upgraded = 4;
export const lingering = 5;
export const closed = 6;

/** Receives the requests that a client sends. */
export interface RequestReceiver {
  /** Whether the socket's send buffer is full. The client's next request waits. */
  readonly isBlocked: boolean;
  /** Called with the first bytes of an incomplete head. */
  headBegun(): void;
  /** Called with a complete head. Calls `expectBody` if a body follows. Returns false if the connection ends. */
  head(read: RequestRead): boolean;
  /** Called after the available part of the head's body was passed. */
  begin(): void;
  /** Called with body bytes, or with the bytes of an upgraded connection. */
  bodyBytes(bytes: Buffer): void;
  bodyEnded(trailers: FieldTable | undefined): void;
  bodyMalformed(why: string): void;
  /** Called when the requests that the client sent at once use up its share of a turn. */
  shareSpent(): void;
  /** Called when the input is not a request. */
  malformed(reason: RefusalName, why: string): void;
}

/** Reads requests from a client's bytes one at a time. Bytes after the current request wait for its response. */
export class Http1Reader {
  state = betweenRequests;
  readonly #socket: Socket;
  readonly #limits: HttpLimits;
  readonly #receiver: RequestReceiver;
  readonly #body = new BodyReader();
  #isReading = false;
  /** Whether other connections go before the next request. */
  #mustWait = false;
  /** Incomplete head. */
  #head: HeadBuffer | undefined;
  /** Bytes that were read after the current request. */
  #held: Buffer[] = [];

  constructor(socket: Socket, limits: HttpLimits, receiver: RequestReceiver) {
    this.#socket = socket;
    this.#limits = limits;
    this.#receiver = receiver;
  }

  /** Whether bytes of later requests have been read. */
  get hasHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Reads received bytes, after the bytes that are already held. */
  read(bytes: Buffer): void {
    if (this.#isReading || this.hasHeld) this.#held.push(bytes);
    else this.#readOn(bytes);
  }

  #readOn(first: Buffer): void {
    this.#isReading = true;
    this.#mustWait = false;
    beginShare();
    let bytes: Buffer | undefined = first;
    while (bytes !== undefined) {
      const at = this.#advance(bytes);
      if (at < bytes.length) {
        this.#held.unshift(at === 0 ? bytes : bytes.subarray(at));
        this.#socket.pause();
        break;
      }
      bytes = this.#takeHeld();
    }
    this.#isReading = false;
    if (this.#mustWait && this.hasHeld) this.#receiver.shareSpent();
  }

  /** Continues with bytes that were already read. Returns false if a caller further up the stack continues instead. */
  next(): boolean {
    if (this.#isReading) return false;
    const held = this.#takeHeld();
    if (held !== undefined) this.#readOn(held);
    return true;
  }

  /** Sets the length of the body after the current head. -1 means chunked. */
  expectBody(length: number): void {
    if (length < 0) this.#body.startChunked();
    else this.#body.startLength(length);
    this.state = inBody;
  }

  /** Returns the bytes that were read after a request that upgrades the connection. */
  takeHeld(): readonly Buffer[] {
    return this.#held.splice(0);
  }

  /** Ends reading: no request will follow. */
  finish(state: typeof lingering | typeof closed): void {
    this.#held = [];
    this.#head = undefined;
    this.state = state;
  }

  /** Usually empty. Calling `shift` on an empty list costs more than reading its length. */
  #takeHeld(): Buffer | undefined {
    return this.#held.length > 0 ? this.#held.shift() : undefined;
  }

  /** Reads as far as possible. The remaining bytes wait for the response. */
  #advance(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      switch (this.state) {
        case betweenRequests:
        case inHead:
          if (this.#receiver.isBlocked || (this.#mustWait && this.state === betweenRequests)) return at;
          at = this.#readHead(bytes, at);
          this.#mustWait = spendShare();
          break;
        case inBody:
          at = this.#readBody(bytes, at);
          break;
        case upgraded:
          this.#receiver.bodyBytes(at === 0 ? bytes : bytes.subarray(at));
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
    const limits = this.#limits;
    const receiver = this.#receiver;
    let bytes = chunk;
    let start = from;
    const begun = this.#head;
    const before = begun?.length ?? 0;
    if (begun !== undefined) {
      if (!begun.add(from === 0 ? chunk : chunk.subarray(from), limits.maxHeadBytes)) return chunk.length;
      bytes = begun.bytes();
      start = 0;
    }
    const head = readRequestHead(bytes, start, limits);
    if (head === undefined) {
      if (begun === undefined) {
        this.#head = new HeadBuffer();
        this.#head.add(chunk.subarray(from), limits.maxHeadBytes);
        this.state = inHead;
        receiver.headBegun();
      }
      return chunk.length;
    }
    if ("outcome" in head) {
      const names = { [tooLarge]: "headers_too_large", [targetTooLong]: "uri_too_long" } as const;
      const { outcome, reason } = head;
      receiver.malformed(outcome === tooLarge || outcome === targetTooLong ? names[outcome] : "bad_request", reason);
      return chunk.length;
    }
    this.#head = undefined;
    const used = begun === undefined ? head.end : from + head.end - before;
    this.state = awaitingResponse;
    if (!receiver.head(head)) return chunk.length;
    const end = this.state === inBody && used < chunk.length ? this.#readBody(chunk, used) : used;
    receiver.begin();
    return end;
  }

  #readBody(bytes: Buffer, start: number): number {
    const body = this.#body;
    let at = start;
    while (at < bytes.length && !body.done) {
      const next = body.step(bytes, at);
      if (next < 0) {
        this.#receiver.bodyMalformed(fault);
        return bytes.length;
      }
      at = next;
      const { pieceStart, pieceEnd } = body;
      if (pieceEnd === pieceStart) continue;
      const isAll = pieceStart === 0 && pieceEnd === bytes.length;
      this.#receiver.bodyBytes(isAll ? bytes : bytes.subarray(pieceStart, pieceEnd));
      // An answer may have ended the exchange and the reading of this body.
      if (this.state !== inBody) return bytes.length;
    }
    if (!body.done) return at;
    this.state = awaitingResponse;
    this.#receiver.bodyEnded(body.trailers);
    return at;
  }
}
