/**
 * Reads along on one connection to a service that speaks HTTP/2 only, and keeps what passes as `ExchangeReader` does. Header
 * blocks refer to those before them, so they are read as they pass.
 */
import type { StreamWatch } from "../agent/stream-watch.ts";
import { FrameReader } from "../http2/frame-reader.ts";
import { flag, frameType } from "../http2/frames.ts";
import { HeadBuilder } from "../http2/head-builder.ts";
import { HeaderBlocks, hollow, unfinished } from "../http2/header-blocks.ts";
import type { BlockProgress } from "../http2/header-blocks.ts";
import { pseudo } from "../http2/header-entry.ts";
import { HpackDecoder } from "../http2/hpack-decoder.ts";
import { beginExchange, clientOf } from "./begin-exchange.ts";
import type { FollowOptions } from "./begin-exchange.ts";
import { BodyCopy } from "./exchange.ts";
import type { CapturedResponse, Exchange } from "./exchange.ts";
import { preambleLength } from "./proxy-preamble.ts";

const maxHeadBytes = 131_072;
const maxFields = 512;
/** "H": an agent that cannot reach its service answers in HTTP/1.1, and no frame begins so. */
const http1Byte = 72;
const headEnd = "\r\n\r\n";
const none = Buffer.alloc(0);
/** One for all connections: a block is decoded in one go. */
const head = new HeadBuilder();

export interface Http2FollowOptions extends FollowOptions {
  /** Told of each request whose answer has begun, or never came. */
  readonly answered: (exchange: Exchange) => void;
}

export class Http2Reader implements StreamWatch {
  readonly #options: Http2FollowOptions;
  readonly #forth = new Side(this, true);
  readonly #back = new Side(this, false);
  /** By the number of its stream: requests that have not been answered whole. */
  readonly #open = new Map<number, Exchange>();
  /** What has come of a PROXY header; undefined behind it. */
  #preamble: Buffer | undefined;
  /** Nothing of the service has come. */
  #isSilent = true;
  /** Nothing is read any more. */
  #isBlind = false;

  constructor(options: Http2FollowOptions) {
    this.#options = options;
    this.#preamble = options.hasPreamble ? none : undefined;
  }

  connected(): void {
    const now = this.#options.clock.monotonic();
    for (const exchange of this.#open.values()) exchange.connectedMs = now - exchange.since;
  }

  fromServer(bytes: Buffer): void {
    if (this.#isBlind) return;
    if (!this.#preamble) return this.#forth.frames.read(bytes);
    const held = Buffer.concat([this.#preamble, bytes]);
    const length = preambleLength(held);
    this.#preamble = length === undefined ? held : undefined;
    if (length !== undefined) this.#forth.frames.read(held.subarray(length));
  }

  fromService(bytes: Buffer): void {
    if (this.#isBlind) return;
    const isOwn = this.#isSilent && bytes[0] === http1Byte;
    this.#isSilent = false;
    if (isOwn) this.#answerOwn(bytes);
    else this.#back.frames.read(bytes);
  }

  ended(): void {
    for (const [streamId, exchange] of this.#open) this.#end(streamId, exchange, "cut");
  }

  // What its sides tell it.

  /** A whole header block, decoded into `head`. */
  fields(isAsking: boolean, streamId: number, isLast: boolean): void {
    const lines = Buffer.from(head.bytes.subarray(0, head.used));
    const exchange = this.#open.get(streamId);
    if (!exchange) {
      if (isAsking) this.#begin(streamId, lines);
    } else if (!isAsking && !exchange.response) {
      const status = Number(head.pseudo[pseudo[":status"]]);
      // Interim answers come before the one that counts.
      if (!(status >= 200)) return;
      this.#answer(exchange, status, headOf(`HTTP/2.0 ${status}`, lines));
    } else if (!isAsking && exchange.response) {
      exchange.response.trailers = lines;
    }
    if (isLast) this.streamEnds(isAsking, streamId);
  }

  data(isAsking: boolean, streamId: number, bytes: Buffer): void {
    const exchange = this.#open.get(streamId);
    const body = isAsking ? exchange?.body : exchange?.response?.body;
    if (!exchange || !body) return;
    const { store } = this.#options;
    const held = body.add(bytes, 0, bytes.length, store.has(exchange));
    if (held > 0) store.grew(exchange, held);
    store.changed(exchange);
  }

  streamEnds(isAsking: boolean, streamId: number): void {
    const exchange = this.#open.get(streamId);
    if (!exchange) return;
    if (isAsking) exchange.body.ended = true;
    else if (exchange.response) {
      exchange.response.body.ended = true;
      this.#end(streamId, exchange, "complete");
    }
    this.#options.store.changed(exchange);
  }

  streamReset(streamId: number): void {
    const exchange = this.#open.get(streamId);
    if (exchange) this.#end(streamId, exchange, "cut");
  }

  /** It cannot be followed: it is passed on, and no longer read. */
  broken(reason: string): void {
    this.#isBlind = true;
    for (const [streamId, exchange] of this.#open) {
      exchange.fault = reason;
      this.#end(streamId, exchange, "unreadable");
    }
  }

  #begin(streamId: number, lines: Buffer): void {
    const { clock, store } = this.#options;
    const method = head.pseudo[pseudo[":method"]] ?? "";
    const target = head.pseudo[pseudo[":path"]] ?? "";
    const authority = head.pseudo[pseudo[":authority"]];
    const host = authority === undefined ? none : Buffer.from(`host: ${authority}\r\n`, "latin1");
    const forwardedFor = /^x-forwarded-for: (.*)\r$/m.exec(lines.toString("latin1"))?.[1];
    const exchange = beginExchange(this.#options, store.take(), {
      at: clock.now(),
      since: clock.monotonic(),
      client: clientOf(forwardedFor),
      method,
      target,
      head: headOf(`${method} ${target} HTTP/2.0`, Buffer.concat([host, lines])),
    });
    this.#open.set(streamId, exchange);
  }

  #answer(exchange: Exchange, status: number, given: Buffer): CapturedResponse {
    const { clock, store, answered } = this.#options;
    const firstByteMs = clock.monotonic() - exchange.since;
    const response: CapturedResponse = { status, head: given, body: new BodyCopy(), firstByteMs };
    exchange.response = response;
    store.grew(exchange, given.length);
    store.changed(exchange);
    answered(exchange);
    return response;
  }

  /** The agent's answer for the service, which comes in one piece. */
  #answerOwn(bytes: Buffer): void {
    this.#isBlind = true;
    const end = bytes.indexOf(headEnd) + headEnd.length;
    for (const [streamId, exchange] of this.#open) {
      const status = Number(bytes.latin1Slice(9, 12));
      const { body } = this.#answer(exchange, status, Buffer.from(bytes.subarray(0, end)));
      this.#options.store.grew(exchange, body.add(bytes, end, bytes.length, true));
      body.ended = true;
      this.#end(streamId, exchange, "complete");
    }
  }

  #end(streamId: number, exchange: Exchange, outcome: Exchange["outcome"]): void {
    const { clock, store, answered } = this.#options;
    this.#open.delete(streamId);
    exchange.outcome = outcome;
    exchange.durationMs = clock.monotonic() - exchange.since;
    store.changed(exchange);
    if (!exchange.response) answered(exchange);
  }
}

/** One direction of the connection. */
class Side {
  readonly frames: FrameReader;
  readonly #reader: Http2Reader;
  readonly #isAsking: boolean;
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HpackDecoder();
  /** Whose DATA is being read. */
  #dataOf = 0;
  isDone = false;

  constructor(reader: Http2Reader, isAsking: boolean) {
    this.#reader = reader;
    this.#isAsking = isAsking;
    this.frames = new FrameReader(this, isAsking);
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (type === frameType.headers) this.#block(this.#blocks.headers(flags, streamId, bytes, start, end, 0));
    else if (type === frameType.continuation)
      this.#block(this.#blocks.continuation(flags, streamId, bytes, start, end));
    else if (type === frameType.rstStream) this.#reader.streamReset(streamId);
  }

  dataBegins(_flags: number, streamId: number): void {
    this.#dataOf = streamId;
  }

  data(bytes: Buffer): void {
    this.#reader.data(this.#isAsking, this.#dataOf, bytes);
  }

  dataEnds(flags: number): void {
    if ((flags & flag.endStream) !== 0) this.#reader.streamEnds(this.#isAsking, this.#dataOf);
  }

  broken(_code: number, reason: string): void {
    this.isDone = true;
    this.#reader.broken(reason);
  }

  #block(block: BlockProgress): void {
    if (block === unfinished || block === hollow) return;
    if ("code" in block) return this.broken(block.code, block.reason);
    head.start(maxHeadBytes, maxFields);
    if (!this.#decoder.decode(block.bytes, block.start, block.end, head)) {
      return this.broken(0, "a header block cannot be decoded");
    }
    this.#reader.fields(this.#isAsking, block.streamId, block.endStream);
  }
}

function headOf(first: string, lines: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${first}\r\n`, "latin1"), lines, Buffer.from("\r\n")]);
}
