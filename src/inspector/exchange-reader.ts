/**
 * Parses one HTTP/1.1 connection to the service with the strict codec and captures its exchanges. It receives copies of
 * bytes that are forwarded elsewhere, so it neither changes nor delays them. Bytes that it cannot parse are counted.
 */
import type { StreamWatch } from "../agent/stream-watch.ts";
import { BodyReader } from "../http1/body-reader.ts";
import { HeadBuffer } from "../http1/head-buffer.ts";
import { fault } from "../http1/read-fields.ts";
import { readRequestHead } from "../http1/read-request.ts";
import type { RequestRead } from "../http1/read-request.ts";
import { readResponseHead } from "../http1/read-response.ts";
import type { ResponseRead } from "../http1/read-response.ts";
import { startResponseBody } from "../http1/response-body.ts";
import type { Clock } from "../lib/clock.ts";
import { beginExchange, clientOf } from "./begin-exchange.ts";
import type { FollowOptions } from "./begin-exchange.ts";
import { BodyCopy } from "./inspected-exchange.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { preambleLength } from "../agent/proxy-preamble.ts";
import type { Recording } from "./recording.ts";
import { WebSocketLog } from "./websocket-log.ts";

/** Wider than the edge's limits, so that everything the edge forwards can be parsed. */
const limits = { maxHeadBytes: 131_072, maxTargetBytes: 65_536, maxFields: 512 };
const none = Buffer.alloc(0);

/** Parser state of one direction: a head, or the body after it. */
class Direction {
  /** Bytes of an incomplete head. */
  readonly head = new HeadBuffer();
  readonly body = new BodyReader();
  inBody = false;
}

export class ExchangeReader implements StreamWatch {
  /** The first request; undefined before it arrives. */
  first: InspectedExchange | undefined;
  /** The clock for events. For a recording it returns the recorded times. */
  clock: Pick<Clock, "now" | "monotonic">;
  readonly #options: FollowOptions;
  readonly #forth = new Direction();
  readonly #back = new Direction();
  /** The request that is being read, or was read last. */
  #asked: InspectedExchange | undefined;
  /** Requests without a complete response. The first one is being answered. */
  readonly #waiting: InspectedExchange[] = [];
  /** When the current head started to arrive: wall clock, then monotonic. */
  #headAt = 0;
  #headSince = 0;
  /** Parsing has stopped, and bytes are counted for this exchange. */
  #blind: InspectedExchange | undefined;
  #hasPreamble: boolean;
  /** Place of the first exchange. Later ones get new places. */
  #place: Recording | undefined;

  constructor(options: FollowOptions, place?: Recording) {
    this.#options = options;
    this.#hasPreamble = options.hasPreamble;
    this.#place = place;
    this.clock = options.clock;
  }

  /** Whether the next bytes start a new exchange. */
  get isIdle(): boolean {
    return (
      this.#waiting.length === 0 &&
      !this.#blind &&
      !this.#hasPreamble &&
      !this.#forth.inBody &&
      this.#forth.head.length === 0 &&
      this.#back.head.length === 0
    );
  }

  connected(): void {
    const { first, clock } = this;
    if (first) first.connectedMs = clock.monotonic() - first.since;
  }

  fromServer(bytes: Buffer): void {
    let at = 0;
    const { head } = this.#forth;
    if (this.#hasPreamble) {
      head.add(bytes, limits.maxHeadBytes);
      const held = head.bytes();
      const length = preambleLength(held);
      if (length === undefined) return;
      this.#hasPreamble = false;
      head.clear();
      return this.fromServer(Buffer.from(held.subarray(length)));
    }
    while (at < bytes.length) {
      if (this.#blind) return this.#pass(this.#blind, "fromVisitor", bytes.subarray(at));
      const asked = this.#asked;
      if (this.#forth.inBody && asked) at = this.#step(this.#forth, asked, asked.body, bytes, at);
      else at = this.#requestHead(bytes, at);
    }
  }

  fromService(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#blind) return this.#pass(this.#blind, "fromService", bytes.subarray(at));
      const [current] = this.#waiting;
      // These bytes answer no request.
      if (!current) return;
      if (!this.#back.inBody || !current.response) at = this.#responseHead(current, bytes, at);
      else {
        at = this.#step(this.#back, current, current.response.body, bytes, at);
        if (current.response.body.ended) this.#answered(current);
      }
    }
  }

  ended(error?: Error): void {
    const [current] = this.#waiting;
    if (current?.response && this.#back.inBody && this.#back.body.untilClose && !error) {
      current.response.body.ended = true;
      this.#answered(current);
    }
    if (this.#blind) this.#end(this.#blind, this.#blind.fault === undefined ? "upgraded" : "unreadable");
    for (const left of this.#waiting.splice(0)) this.#end(left, "cut");
  }

  /** Continues at `at`. Returns the position where it stopped. */
  #requestHead(bytes: Buffer, at: number): number {
    const { clock } = this;
    const { head } = this.#forth;
    const before = head.length;
    if (before === 0) {
      this.#headAt = clock.now();
      this.#headSince = clock.monotonic();
    } else if (!head.add(bytes.subarray(at), limits.maxHeadBytes)) return bytes.length;
    const source = before === 0 ? bytes : head.bytes();
    const start = before === 0 ? at : 0;
    const read = readRequestHead(source, start, limits);
    if (!read) {
      if (before === 0) head.add(bytes.subarray(at), limits.maxHeadBytes);
      return bytes.length;
    }
    const exchange = this.#begin(read, source, start);
    if ("outcome" in read) {
      // Earlier bytes of the head count as well.
      exchange.bytesIn += before;
      this.#goBlind(exchange, read.reason);
      return at;
    }
    head.clear();
    const { body } = this.#forth;
    if (read.fields.chunked) body.startChunked();
    else body.startLength(Math.max(0, read.fields.contentLength));
    this.#forth.inBody = !body.done;
    exchange.body.ended = body.done;
    return at + read.end - start - before;
  }

  #begin(read: RequestRead | { readonly outcome: number }, source: Buffer, start: number): InspectedExchange {
    const isRead = "method" in read;
    const place = this.#place ?? this.#options.store.take();
    this.#place = undefined;
    const exchange = beginExchange(this.#options, place, {
      at: this.#headAt,
      since: this.#headSince,
      client: isRead ? clientOf(read.fields.get("x-forwarded-for")) : undefined,
      method: isRead ? read.method : "",
      target: isRead ? read.target : "",
      head: isRead ? Buffer.from(source.subarray(start, read.end)) : none,
    });
    this.first ??= exchange;
    this.#asked = exchange;
    this.#waiting.push(exchange);
    return exchange;
  }

  #responseHead(current: InspectedExchange, bytes: Buffer, at: number): number {
    const { store } = this.#options;
    const { head, body } = this.#back;
    const before = head.length;
    if (before > 0 && !head.add(bytes.subarray(at), limits.maxHeadBytes)) return bytes.length;
    const source = before === 0 ? bytes : head.bytes();
    const start = before === 0 ? at : 0;
    const read = readResponseHead(source, start, limits);
    if (!read) {
      if (before === 0) head.add(bytes.subarray(at), limits.maxHeadBytes);
      return bytes.length;
    }
    if ("outcome" in read) {
      current.bytesOut += before;
      this.#goBlind(current, read.reason);
      return at;
    }
    const next = at + read.end - start - before;
    const isInterim = read.status < 200 && read.status !== 101;
    if (!isInterim) {
      const copy = Buffer.from(source.subarray(start, read.end));
      const firstByteMs = this.clock.monotonic() - current.since;
      current.response = { status: read.status, head: copy, body: new BodyCopy(), firstByteMs };
      store.grew(current, copy.length);
      store.changed(current);
    }
    head.clear();
    if (isInterim) return next;
    if (switchesProtocol(current, read)) {
      const isWebSocket = read.status === 101 && read.fields.get("upgrade")?.toLowerCase() === "websocket";
      if (isWebSocket) current.webSocket = new WebSocketLog();
      this.#goBlind(current, undefined);
    } else {
      startResponseBody(body, read, current.method === "HEAD");
      this.#back.inBody = !body.done;
      if (body.done && current.response) {
        current.response.body.ended = true;
        this.#answered(current);
      }
    }
    return next;
  }

  /** Processes one step of a body. Afterwards the direction may expect a head again. */
  #step({ body }: Direction, exchange: InspectedExchange, copy: BodyCopy, bytes: Buffer, at: number): number {
    const { store } = this.#options;
    const next = body.step(bytes, at);
    if (next < 0) {
      this.#goBlind(exchange, fault);
      return at;
    }
    if (body.pieceEnd > body.pieceStart) {
      const held = copy.add(bytes, body.pieceStart, body.pieceEnd, store.has(exchange));
      if (held > 0) store.grew(exchange, held);
      store.changed(exchange);
    }
    if (body.done) {
      copy.ended = true;
      if (copy === exchange.body) this.#forth.inBody = false;
      else this.#back.inBody = false;
    }
    return next;
  }

  #answered(exchange: InspectedExchange): void {
    this.#waiting.shift();
    this.#end(exchange, "complete");
  }

  /** Counts bytes that are not parsed. Those of a WebSocket are captured. */
  #pass(exchange: InspectedExchange, way: "fromVisitor" | "fromService", bytes: Buffer): void {
    const { store } = this.#options;
    if (way === "fromVisitor") exchange.bytesIn += bytes.length;
    else exchange.bytesOut += bytes.length;
    if (!exchange.webSocket) return;
    if (store.has(exchange)) store.grew(exchange, exchange.webSocket[way](bytes, this.clock.now()));
    else exchange.webSocket = undefined;
    store.changed(exchange);
  }

  /** Stops parsing. @param why undefined if both sides agreed to switch protocols */
  #goBlind(exchange: InspectedExchange, why: string | undefined): void {
    this.#blind = exchange;
    exchange.fault = why;
    for (const other of this.#waiting.splice(0)) if (other !== exchange) this.#end(other, "cut");
  }

  #end(exchange: InspectedExchange, outcome: InspectedExchange["outcome"]): void {
    exchange.outcome = outcome;
    exchange.durationMs ??= this.clock.monotonic() - exchange.since;
    this.#options.store.changed(exchange);
  }
}

function switchesProtocol({ method }: InspectedExchange, { status }: ResponseRead): boolean {
  return status === 101 || (method === "CONNECT" && status >= 200 && status < 300);
}
