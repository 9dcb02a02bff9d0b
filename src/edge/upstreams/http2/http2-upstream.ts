import { RequestReader } from "./request-reader.ts";
import { headTooLarge } from "../../../http1/head-too-large.ts";
import type { RequestRead } from "../../../http1/read-request.ts";
import type { FieldTable } from "../../../http1/field-table.ts";
import { endUnit } from "../../../lib/boundary.ts";
import { discardingReceiver } from "../../../lib/io/byte-stream.ts";
import type { ByteReceiver, ByteStream } from "../../../lib/io/byte-stream.ts";
import { UnusedStream } from "../../../lib/io/lost-stream.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { Deadlines } from "../../../lib/deadlines.ts";
import type { Log } from "../../../lib/log.ts";
import { checkFrame } from "../../../http2/check-frame.ts";
import { FloodGuard } from "../../../http2/flood-guard.ts";
import type { Nuisance } from "../../../http2/flood-guard.ts";
import { FrameReader } from "../../../http2/http2-frame-reader.ts";
import type { FrameHandler } from "../../../http2/http2-frame-reader.ts";
import { errorCode, flag, frameType, readUint31 } from "../../../http2/http2-frames.ts";
import { HeadBuilder } from "../../../http2/head-builder.ts";
import { HeaderBlocks, hollow, unfinished } from "../../../http2/header-blocks.ts";
import type { BlockProgress } from "../../../http2/header-blocks.ts";
import { HpackDecoder } from "../../../http2/hpack-decoder.ts";
import { RequestSender, windowBytes } from "./request-sender.ts";
import { ResponseWriter } from "./response-writer.ts";
import { noBytes } from "../../../lib/no-bytes.ts";

/** The part of an edge's upstream context that a stream needs. */
interface Context {
  readonly deadlines: Deadlines;
  readonly limits: { readonly maxHeadBytes: number; readonly maxFields: number };
  readonly log: Log;
}

/** Start of an agent's own HTTP/1.1 response if it cannot reach its service. */
const agentAnswer = Buffer.from("HTTP/1.1 502 ");
/** "H". No HTTP/2 frame begins with this byte, because its length would exceed the maximum. */
const http1Byte = 0x48;
/** Shared by all connections, because a block is decoded synchronously. */
const head = new HeadBuilder();

/**
 * Adapts a stream to a service that speaks HTTP/2 with prior knowledge (RFC 9113 §3.3) to HTTP/1.1. Requests written to
 * it are sent in HTTP/2, one after another. Their responses are read from it in HTTP/1.1. HTTP/2 responses are parsed
 * as strictly as HTTP/1.1 (security W4). An error ends the stream with a `Refusal`.
 */
export function http2Upstream(inner: ByteStream, context: Context): ByteStream {
  return new Http2Upstream(inner, context);
}

class Http2Upstream implements ByteStream, FrameHandler {
  receiver: ByteReceiver = discardingReceiver;
  isDone = false;
  readonly #inner: ByteStream;
  readonly #context: Context;
  readonly #sender: RequestSender;
  readonly #requests: RequestReader;
  readonly #frames = new FrameReader(this, false);
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HpackDecoder();
  readonly #guard: FloodGuard;
  readonly #response: ResponseWriter;
  #why: Error | undefined;
  #settingsSeen = false;
  /** Whether the agent itself answers in HTTP/1.1. */
  #isPlain = false;
  /** Whether the service accepts no more requests. */
  #isLast = false;
  /** Number of bytes that the service may still send: on the connection, and for the current response. */
  #window = windowBytes;
  #streamWindow = windowBytes;
  #unreturned = 0;
  #streamUnreturned = 0;
  /** Number of body bytes in the bytes being read. They are credited when they were consumed. */
  #bodyBytes = 0;
  /** Whether the DATA frame being read is discarded. */
  #isDropped = false;
  /** Number of framing bytes given to the receiver and not yet consumed. */
  #textBytes = 0;

  constructor(inner: ByteStream, context: Context) {
    this.#inner = inner;
    this.#context = context;
    this.#sender = new RequestSender(inner, (request) => this.#begins(request));
    this.#requests = new RequestReader(this.#sender);
    this.#guard = new FloodGuard(context.deadlines.now);
    this.#response = new ResponseWriter((bytes, bodyBytes) => {
      this.#textBytes += bytes.length - bodyBytes;
      if (!this.isDone) this.receiver.data(bytes);
    });
    inner.receiver = {
      data: (bytes) => this.#received(bytes),
      ended: () => this.receiver.ended(),
      broke: (error) => endUnit("stream", this.receiver, error),
      drained: () => {
        if (this.#sender.drained()) this.receiver.drained();
      },
      closed: (error) => {
        this.isDone = true;
        this.receiver.closed(this.#why ?? error);
      },
    };
  }

  // Implementation of ByteStream.

  write(bytes: Uint8Array): boolean {
    if (this.isDone) return false;
    const isRead = this.#requests.read(bytes as Buffer);
    const { fault } = this.#sender;
    if (fault !== "" || !isRead) this.broken(0, fault || "the request cannot be written in HTTP/2");
    return this.#sender.hasRoom;
  }

  writeLatin1(text: string): boolean {
    return this.write(Buffer.from(text, "latin1"));
  }

  end(): void {
    this.#inner.end();
  }

  abort(): void {
    this.isDone = true;
    this.#inner.abort();
  }

  consumed(byteCount: number): void {
    const text = Math.min(byteCount, this.#textBytes);
    this.#textBytes -= text;
    if (byteCount === text) return;
    this.#inner.consumed(byteCount - text);
    if (!this.#isPlain) this.#credit(byteCount - text);
  }

  #begins({ method, fields }: RequestRead): string {
    if (fields.upgradeIndex >= 0) return "an upgrade is of HTTP/1.1";
    if (this.#isLast) {
      // The request may use another connection, because this one was used before.
      this.#unused("the service accepts no more requests");
      return "closed";
    }
    this.#streamWindow = windowBytes;
    this.#streamUnreturned = 0;
    this.#response.start(method === "HEAD");
    return "";
  }

  #received(bytes: Buffer): void {
    if (this.isDone) return;
    if (!this.#settingsSeen && !this.#isPlain && bytes[0] === http1Byte) {
      this.#isPlain = bytes.subarray(0, agentAnswer.length).equals(agentAnswer);
      if (!this.#isPlain) return this.broken(0, "the service does not speak HTTP/2");
    }
    if (this.#isPlain) return this.receiver.data(bytes);
    this.#bodyBytes = 0;
    this.#frames.read(bytes);
    if (bytes.length > this.#bodyBytes) this.#inner.consumed(bytes.length - this.#bodyBytes);
  }

  // Implementation of FrameHandler.

  broken(_code: number, reason: string): void {
    this.#fail("upstream_invalid", reason);
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#blocks.openSince !== Infinity && type !== frameType.continuation) {
      return this.broken(0, "a frame inside a header block");
    }
    if (!this.#settingsSeen && type !== frameType.settings) return this.broken(0, "the first frame is not SETTINGS");
    const fault = checkFrame(type, flags, streamId, this.#sender.streamId, bytes, start, end);
    if (fault !== undefined) return this.broken(fault.code, fault.reason);
    const { now } = this.#context.deadlines;
    switch (type) {
      case frameType.headers:
        return this.#block(this.#blocks.headers(flags, streamId, bytes, start, end, now));
      case frameType.continuation:
        return this.#block(this.#blocks.continuation(flags, streamId, bytes, start, end));
      case frameType.settings:
        return this.#settings(flags, bytes, start, end);
      case frameType.windowUpdate:
        return this.#windowUpdate(streamId, readUint31(bytes, start));
      case frameType.rstStream:
        if (!this.#count("resets") || !this.#isPresent(streamId)) return;
        if (readUint31(bytes, start) === errorCode.refusedStream) this.#unused("the service refused the request");
        else this.#fail("upstream_refused", "the request was reset");
        return;
      case frameType.ping:
        if (!this.#count("pings") || (flags & flag.ack) !== 0) return;
        this.#sender.frame(frameType.ping, flag.ack, 0, bytes.subarray(start, end));
        return;
      case frameType.goaway:
        return this.#goneAway(readUint31(bytes, start));
      default:
        this.#count("hollow");
    }
  }

  dataBegins(flags: number, streamId: number, length: number, padding: number): void {
    if (this.#blocks.openSince !== Infinity) return this.broken(0, "DATA inside a header block");
    if (streamId <= 0 || streamId > this.#sender.streamId) return this.broken(0, "DATA on no stream");
    if (length === padding && (flags & flag.endStream) === 0 && !this.#count("hollow")) return;
    this.#isDropped = !this.#isPresent(streamId);
    this.#window -= length;
    if (!this.#isDropped) this.#streamWindow -= length;
    if (this.#window < 0 || this.#streamWindow < 0) return this.broken(0, "more DATA than the window");
    if (!this.#isDropped && !this.#response.begun) return this.broken(0, "DATA before the response");
    this.#credit(this.#isDropped ? length : padding);
  }

  data(bytes: Buffer): void {
    if (this.#isDropped) return;
    this.#bodyBytes += bytes.length;
    this.#judge(this.#response.body(bytes));
  }

  dataEnds(flags: number): void {
    if (this.#isDropped || (flags & flag.endStream) === 0) return;
    this.#sender.isOpen = false;
    this.#judge(this.#response.end(undefined));
    this.#afterEnd();
  }

  // Other frames.

  #block(progress: BlockProgress): void {
    if (progress === hollow) this.#count("hollow");
    if (progress === hollow || progress === unfinished) return;
    if ("code" in progress) return this.broken(progress.code, progress.reason);
    const { streamId, endStream, bytes, start, end } = progress;
    const { limits } = this.#context;
    head.start(limits.maxHeadBytes, limits.maxFields);
    if (!this.#decoder.decode(bytes, start, end, head)) return this.broken(0, "header block not decoded");
    if (head.tooLarge) return this.broken(0, headTooLarge(limits));
    if (streamId > this.#sender.streamId) return this.broken(0, "HEADERS on no stream");
    if (!this.#isPresent(streamId)) return;
    // Set before the end is passed on, because the next request may follow immediately.
    if (endStream) this.#sender.isOpen = false;
    this.#judge(this.#response.begun ? this.#trailers(endStream) : this.#response.head(head, endStream, this.#isLast));
    if (endStream) this.#afterEnd();
  }

  #trailers(endStream: boolean): string {
    const isValid = endStream && !head.hasPseudo && head.fault === "" && !head.tooLarge;
    const fields: FieldTable | undefined = isValid ? head.build("") : undefined;
    return fields ? this.#response.end(fields) : head.fault || "invalid trailers";
  }

  #settings(flags: number, bytes: Buffer, start: number, end: number): void {
    const isAck = (flags & flag.ack) !== 0;
    if (!isAck) this.#settingsSeen = true;
    if (!this.#count("settings") || isAck) return;
    const { peer } = this.#sender;
    const before = peer.initialWindow;
    const fault = peer.read(bytes, start, end);
    if (fault !== 0) return this.broken(fault, "invalid SETTINGS");
    this.#sender.frame(frameType.settings, flag.ack, 0, noBytes);
    if (!this.#sender.widen(peer.initialWindow - before)) return this.broken(0, "window too large");
    this.#goOn();
  }

  #windowUpdate(streamId: number, increment: number): void {
    if (!this.#count("windowUpdates")) return;
    this.#judge(this.#sender.widenBy(streamId, increment));
    if (!this.isDone) this.#goOn();
  }

  #goneAway(lastId: number): void {
    this.#isLast = true;
    if (!this.#sender.isOpen) this.receiver.ended();
    else if (this.#sender.streamId > lastId) this.#unused("the service is closing the connection");
  }

  /** Fails a request that began directly after the end, because a service that goes away no longer accepts it. */
  #afterEnd(): void {
    if (this.isDone || !this.#isLast) return;
    if (this.#sender.isOpen) this.#unused("the service has closed the connection");
    else this.receiver.ended();
  }

  #goOn(): void {
    if (this.#sender.goesOn()) this.receiver.drained();
  }

  #isPresent(streamId: number): boolean {
    return streamId === this.#sender.streamId && this.#sender.isOpen;
  }

  /** Restores the service's window by these bytes. */
  #credit(byteCount: number): void {
    if (this.isDone) return;
    this.#unreturned += byteCount;
    this.#streamUnreturned += byteCount;
    if (this.#unreturned >= windowBytes / 4) {
      this.#window += this.#unreturned;
      this.#sender.credit(0, this.#unreturned);
      this.#unreturned = 0;
    }
    if (this.#streamUnreturned < windowBytes / 4 || !this.#sender.isOpen) return;
    this.#streamWindow += this.#streamUnreturned;
    this.#sender.credit(this.#sender.streamId, this.#streamUnreturned);
    this.#streamUnreturned = 0;
  }

  #count(nuisance: Nuisance): boolean {
    if (this.isDone) return false;
    if (this.#guard.allow(nuisance, this.#context.deadlines.now)) return true;
    this.broken(0, `too many ${nuisance}`);
    return false;
  }

  #judge(fault: string): void {
    if (fault !== "") this.broken(0, fault);
  }

  #fail(reason: "upstream_invalid" | "upstream_refused", why: string): void {
    this.#close(new Refusal(reason, why));
  }

  /** Ends the stream because the service has not processed the request (RFC 9113 §8.7). */
  #unused(why: string): void {
    this.#close(new UnusedStream("upstream_refused", why));
  }

  #close(why: Error): void {
    if (this.isDone) return;
    this.#context.log.info("HTTP/2 upstream closed", { reason: why.message });
    this.#why = why;
    this.abort();
  }
}
