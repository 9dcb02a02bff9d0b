/**
 * Observes one connection to a service that speaks only HTTP/2. Header blocks depend on earlier blocks, so all of them
 * are decoded as they pass.
 */
import { FrameReader } from "../http2/http2-frame-reader.ts";
import { flag, frameType } from "../http2/http2-frames.ts";
import { HeadBuilder } from "../http2/head-builder.ts";
import { HeaderBlocks, hollow, unfinished } from "../http2/header-blocks.ts";
import type { BlockProgress } from "../http2/header-blocks.ts";
import { pseudo } from "../http2/header-entry.ts";
import { HpackDecoder } from "../http2/hpack-decoder.ts";
import { preambleLength } from "./proxy-preamble.ts";

const maxHeadBytes = 131_072;
const maxFields = 512;
/** "H": an agent that cannot reach its service answers in HTTP/1.1. No HTTP/2 frame starts with this byte. */
const http1Byte = 72;
const none = Buffer.alloc(0);
/** Shared by all connections, because each block is decoded in one synchronous call. */
const head = new HeadBuilder();

/** A decoded header block. Valid only during the call. */
export interface Http2Fields {
  /** Fields as HTTP/1.1 lines, without pseudo-fields. */
  readonly lines: Buffer;
  /** Returns undefined if the pseudo-field is absent. */
  pseudo(name: keyof typeof pseudo): string | undefined;
}

/** Receives what happens on a connection. */
export interface Http2Watch {
  /**
   * @param isAsking true for a request, false for a response
   * @param isLast no more frames of this message follow
   */
  fields(isAsking: boolean, streamId: number, fields: Http2Fields, isLast: boolean): void;
  data(isAsking: boolean, streamId: number, bytes: Buffer): void;
  streamEnds(isAsking: boolean, streamId: number): void;
  streamReset(streamId: number): void;
  /** The agent answered in HTTP/1.1 in place of the service. Nothing after this is read. */
  ownAnswer(bytes: Buffer): void;
  /** The connection could not be decoded. Nothing after this is read. */
  broken(reason: string): void;
}

export class Http2Connection {
  readonly #watch: Http2Watch;
  readonly #forth: Side;
  readonly #back: Side;
  /** Bytes of an incomplete PROXY header; undefined once it has passed. */
  #preamble: Buffer | undefined;
  /** The service has not sent anything yet. */
  #isSilent = true;
  /** Reading has stopped. */
  #isBlind = false;

  constructor(watch: Http2Watch, hasPreamble: boolean) {
    this.#watch = watch;
    const broken = (reason: string): void => {
      this.#isBlind = true;
      watch.broken(reason);
    };
    this.#forth = new Side(watch, true, broken);
    this.#back = new Side(watch, false, broken);
    this.#preamble = hasPreamble ? none : undefined;
  }

  fromServer(bytes: Buffer): void {
    if (this.#isBlind) return;
    if (!this.#preamble) {
      this.#forth.frames.read(bytes);
      return;
    }
    const held = Buffer.concat([this.#preamble, bytes]);
    const length = preambleLength(held);
    this.#preamble = length === undefined ? held : undefined;
    if (length !== undefined) this.#forth.frames.read(held.subarray(length));
  }

  fromService(bytes: Buffer): void {
    if (this.#isBlind) return;
    const isOwn = this.#isSilent && bytes[0] === http1Byte;
    this.#isSilent = false;
    if (!isOwn) {
      this.#back.frames.read(bytes);
      return;
    }
    this.#isBlind = true;
    this.#watch.ownAnswer(bytes);
  }
}

const given: Http2Fields = {
  get lines() {
    return head.bytes.subarray(0, head.used);
  },
  pseudo: (name) => head.pseudo[pseudo[name]],
};

/** One direction of the connection. */
class Side {
  readonly frames: FrameReader;
  readonly #watch: Http2Watch;
  readonly #isAsking: boolean;
  readonly #broken: (reason: string) => void;
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HpackDecoder();
  /** Stream whose DATA frame is being read. */
  #dataOf = 0;
  isDone = false;

  constructor(watch: Http2Watch, isAsking: boolean, broken: (reason: string) => void) {
    this.#watch = watch;
    this.#isAsking = isAsking;
    this.#broken = broken;
    this.frames = new FrameReader(this, isAsking);
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (type === frameType.headers) this.#block(this.#blocks.headers(flags, streamId, bytes, start, end, 0));
    else if (type === frameType.continuation)
      this.#block(this.#blocks.continuation(flags, streamId, bytes, start, end));
    else if (type === frameType.rstStream) this.#watch.streamReset(streamId);
  }

  dataBegins(_flags: number, streamId: number): void {
    this.#dataOf = streamId;
  }

  data(bytes: Buffer): void {
    this.#watch.data(this.#isAsking, this.#dataOf, bytes);
  }

  dataEnds(flags: number): void {
    if ((flags & flag.endStream) !== 0) this.#watch.streamEnds(this.#isAsking, this.#dataOf);
  }

  broken(_code: number, reason: string): void {
    this.isDone = true;
    this.#broken(reason);
  }

  #block(block: BlockProgress): void {
    if (block === unfinished || block === hollow) return;
    if ("code" in block) return this.broken(block.code, block.reason);
    head.start(maxHeadBytes, maxFields);
    if (!this.#decoder.decode(block.bytes, block.start, block.end, head)) {
      return this.broken(0, "a header block cannot be decoded");
    }
    this.#watch.fields(this.#isAsking, block.streamId, given, block.endStream);
  }
}
