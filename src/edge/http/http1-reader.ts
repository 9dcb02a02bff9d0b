import type { Socket } from "node:net";
import { BodyReader } from "../../http1/body-reader.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { fault, targetTooLong, tooLarge } from "../../http1/read-fields.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { HttpLimits } from "./context.ts";

/** What an HTTP/1.1 connection is at. */
export const betweenRequests = 0;
export const inHead = 1;
export const inBody = 2;
export const awaitingResponse = 3;
export const upgraded = 4;
export const lingering = 5;
export const closed = 6;

/** Who is told of what a client sends. */
export interface RequestReceiver {
  /** What was sent to the client fills the socket: its next request waits. */
  readonly isBlocked: boolean;
  /** The first bytes of a head that is not in hand whole. */
  headBegun(): void;
  /** A whole head; `expectBody` is called from here when a body follows. False: the connection is at its end. */
  head(read: RequestRead): boolean;
  /** The head's body, as far as it is in hand, was given. */
  begin(): void;
  /** Body bytes, or the bytes of an upgraded connection. */
  bodyBytes(bytes: Buffer): void;
  bodyEnded(trailers: FieldTable | undefined): void;
  bodyMalformed(why: string): void;
  /** What came is no request. */
  malformed(reason: RefusalName, why: string): void;
}

/** Reads one request after another from a client's bytes; what is behind the present one waits for its response. */
export class Http1Reader {
  state = betweenRequests;
  readonly #socket: Socket;
  readonly #limits: HttpLimits;
  readonly #receiver: RequestReceiver;
  readonly #body = new BodyReader();
  #isReading = false;
  /** A head that did not come whole. */
  #head: HeadBuffer | undefined;
  /** What was read behind the present request. */
  #held: Buffer[] = [];

  constructor(socket: Socket, limits: HttpLimits, receiver: RequestReceiver) {
    this.#socket = socket;
    this.#limits = limits;
    this.#receiver = receiver;
  }

  /** Bytes of later requests are in hand. */
  get hasHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Bytes as they come: behind those that are in hand. */
  read(bytes: Buffer): void {
    if (this.#isReading || this.hasHeld) this.#held.push(bytes);
    else this.#readOn(bytes);
  }

  #readOn(first: Buffer): void {
    this.#isReading = true;
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
  }

  /** Goes on with what was read already. False when that happens by itself, further up the stack. */
  next(): boolean {
    if (this.#isReading) return false;
    const held = this.#takeHeld();
    if (held !== undefined) this.#readOn(held);
    return true;
  }

  /** The body of the head that was just given; length -1: chunked. */
  expectBody(length: number): void {
    if (length < 0) this.#body.startChunked();
    else this.#body.startLength(length);
    this.state = inBody;
  }

  /** What was read behind a request that upgrades the connection. */
  takeHeld(): readonly Buffer[] {
    return this.#held.splice(0);
  }

  /** No request will follow. */
  finish(state: typeof lingering | typeof closed): void {
    this.#held = [];
    this.#head = undefined;
    this.state = state;
  }

  /** There seldom is any, and asking an empty list costs more than its length. */
  #takeHeld(): Buffer | undefined {
    return this.#held.length > 0 ? this.#held.shift() : undefined;
  }

  /** Reads as far as it may; what is left waits for the response. */
  #advance(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      switch (this.state) {
        case betweenRequests:
        case inHead:
          if (this.#receiver.isBlocked) return at;
          at = this.#readHead(bytes, at);
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
      // An answer may have ended the exchange, and with it the reading of this body.
      if (this.state !== inBody) return bytes.length;
    }
    if (!body.done) return at;
    this.state = awaitingResponse;
    this.#receiver.bodyEnded(body.trailers);
    return at;
  }
}
