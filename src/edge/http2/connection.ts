import type { TLSSocket } from "node:tls";
import { emptyFields } from "../../http1/field-table.ts";
import type { ConnectionFacts } from "../../modules/exchange.ts";
import { ClientConnection } from "../http/client-connection.ts";
import type { HttpContext, ServedConnection, SiteLookup } from "../http/context.ts";
import type { Timed } from "../http/deadlines.ts";
import { errorPage } from "../http/error-page.ts";
import { newRequestId } from "../http/request-id.ts";
import { floodCode, FloodGuard } from "./flood-guard.ts";
import type { Nuisance } from "./flood-guard.ts";
import { FrameReader } from "./frame-reader.ts";
import type { FrameHandler } from "./frame-reader.ts";
import { defaultWindow, errorCode, flag, frameType, maxWindow, putUint32, readUint31, setting } from "./frames.ts";
import { HeadBuilder } from "./head-builder.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { Http2Output } from "./output.ts";
import { readHead } from "./request-head.ts";
import type { Malformed } from "./request-head.ts";
import { Http2Stream, streamWindowBytes } from "./stream.ts";
import type { StreamOwner } from "./stream.ts";

/** Requests in flight per connection (D1). */
const maxStreams = 100;
/** Body bytes of all streams that a client may send ahead of what was taken on (D1). */
const connectionWindowBytes = 1024 * 1024;
/** A header block before decompression, and the frames behind its HEADERS. */
const maxBlockBytes = 64 * 1024;
const maxContinuations = 16;
/** Streams that we have reset and about which frames may still be under way. */
const maxRemembered = 200;
/** How often a connection with requests in flight is looked at for streams that do not move. */
const lookMs = 2500;
/** After the last frame the client's bytes are read and dropped for so long, so that it can read that frame. */
const lingerMs = 1000;

/** One for all connections: a block is decoded in one go. */
const head = new HeadBuilder();

/** A header block that is not complete: its stream, and what has come of it. */
interface OpenBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly since: number;
  parts: Buffer[];
  size: number;
  continuations: number;
}

/**
 * Serves HTTP/2 (RFC 9113) on a connection whose TLS handshake chose it. `sites` is asked for each request. The
 * socket belongs to the connection from here on.
 *
 * @param first bytes that were read from the socket already
 */
export function serveHttp2(
  socket: TLSSocket,
  facts: ConnectionFacts,
  sites: SiteLookup,
  context: HttpContext,
  first?: Buffer,
): ServedConnection {
  const connection = new Http2Connection(socket, new ClientConnection(facts, sites, context));
  if (first !== undefined && first.length > 0) connection.receive(first);
  return connection;
}

class Http2Connection implements FrameHandler, StreamOwner, ServedConnection, Timed {
  expiresAt: number;
  isDone = false;
  readonly output: Http2Output;
  readonly #socket: TLSSocket;
  readonly #shared: ClientConnection;
  readonly #context: HttpContext;
  readonly #reader = new FrameReader(this);
  readonly #decoder = new HpackDecoder();
  readonly #guard: FloodGuard;
  readonly #bornAt: number;
  readonly #streams = new Map<number, Http2Stream>();
  /** Streams with bytes that wait for room, in the order in which their turn comes. */
  readonly #waiting = new Set<Http2Stream>();
  readonly #resetByUs = new Set<number>();
  /** Highest stream id that the client has used. */
  #lastId = 0;
  #block: OpenBlock | undefined;
  #sendWindow = defaultWindow;
  #initialSendWindow = defaultWindow;
  #receiveWindow = connectionWindowBytes;
  #unreturned = 0;
  /** Stream of the DATA frame being read; undefined when its bytes are dropped. */
  #reading: Http2Stream | undefined;
  #settingsSeen = false;
  #isDraining = false;
  #isClosed = false;
  #idleSince: number;
  #blockedSince = Infinity;

  constructor(socket: TLSSocket, shared: ClientConnection) {
    const { context } = shared;
    this.#socket = socket;
    this.#shared = shared;
    this.#context = context;
    this.output = new Http2Output(socket);
    const { now } = context.deadlines;
    this.#guard = new FloodGuard(now);
    this.#bornAt = this.#idleSince = now;
    this.expiresAt = now + context.limits.headTimeoutMs;
    context.deadlines.add(this);
    context.connections.add(this);
    context.counters.openConnections += 1;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
    socket.on("end", () => this.#closed());
    socket.on("drain", () => this.#drained());
    // What went wrong with a client's socket is nobody's business here: "close" follows.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
    this.#greet();
  }

  receive(bytes: Buffer): void {
    if (this.isDone) return;
    this.#reader.read(bytes);
    if (!this.output.isFull) return;
    // What the client asks for piles up because it does not read the answers.
    if (this.#blockedSince === Infinity) this.#blockedSince = this.#context.deadlines.now;
    this.#socket.pause();
  }

  drain(): void {
    if (this.#isDraining || this.isDone) return;
    this.#isDraining = true;
    if (this.#streams.size === 0) this.#goAway(errorCode.noError, "");
    else this.#sendGoAway(errorCode.noError, "");
  }

  destroy(): void {
    this.#socket.destroy();
    this.#closed();
  }

  // FrameHandler.

  broken(code: number, reason: string): void {
    this.#context.counters.malformed += 1;
    this.#context.log.info("HTTP/2 connection refused", { reason, code, source: this.#shared.facts.source });
    this.#goAway(code, reason);
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#block !== undefined && type !== frameType.continuation) {
      return this.broken(errorCode.protocolError, "a frame inside a header block");
    }
    if (!this.#settingsSeen && type !== frameType.settings) {
      return this.broken(errorCode.protocolError, "the first frame is not SETTINGS");
    }
    switch (type) {
      case frameType.headers:
        return this.#headers(flags, streamId, bytes, start, end);
      case frameType.continuation:
        return this.#continuation(flags, streamId, bytes, start, end);
      case frameType.settings:
        return this.#settings(flags, streamId, bytes, start, end);
      case frameType.windowUpdate:
        return this.#windowUpdate(streamId, bytes, start, end);
      case frameType.rstStream:
        return this.#resetByClient(streamId, end - start);
      case frameType.ping:
        return this.#ping(flags, streamId, bytes, start, end);
      case frameType.priority:
        return this.#priority(streamId, bytes, start, end);
      case frameType.goaway:
        if (streamId !== 0) this.broken(errorCode.protocolError, "GOAWAY on a stream");
        else if (end - start < 8) this.broken(errorCode.frameSizeError, "GOAWAY too short");
        else this.#isDraining = true;
        return;
      case frameType.pushPromise:
        return this.broken(errorCode.protocolError, "PUSH_PROMISE from a client");
      default:
        this.#count("hollow");
    }
  }

  dataBegins(flags: number, streamId: number, length: number, padding: number): void {
    this.#reading = undefined;
    if (this.#block !== undefined) return this.broken(errorCode.protocolError, "DATA inside a header block");
    if (streamId === 0 || streamId > this.#lastId || !this.#settingsSeen) {
      return this.broken(errorCode.protocolError, "DATA on no stream");
    }
    if (length === padding && (flags & flag.endStream) === 0 && !this.#count("hollow")) return;
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) return this.broken(errorCode.flowControlError, "more DATA than the window");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      this.credited(length);
      if (!this.#resetByUs.has(streamId)) this.broken(errorCode.streamClosed, "DATA on a closed stream");
      return;
    }
    if (stream.remoteEnded) {
      this.credited(length);
      return this.#streamError(stream, errorCode.streamClosed, "DATA behind the end of the stream");
    }
    stream.receiveWindow -= length;
    if (stream.receiveWindow < 0) {
      this.credited(length);
      return this.#streamError(stream, errorCode.flowControlError, "more DATA than the stream's window");
    }
    this.#reading = stream;
    if (padding > 0) stream.skipped(padding);
  }

  data(streamId: number, bytes: Buffer): void {
    const stream = this.#reading;
    // Counted when the frame began, and given back then where its stream was closed already.
    if (stream === undefined) return;
    if (stream.isGone) {
      this.credited(bytes.length);
    } else if (!stream.receive(bytes)) {
      this.credited(bytes.length);
      this.#streamError(stream, errorCode.protocolError, `more DATA than content-length on stream ${streamId}`);
    }
  }

  dataEnds(flags: number, _streamId: number): void {
    const stream = this.#reading;
    this.#reading = undefined;
    if (stream === undefined || stream.isGone || (flags & flag.endStream) === 0) return;
    if (!stream.receiveEnd(undefined)) {
      this.#streamError(stream, errorCode.protocolError, "less DATA than content-length");
    }
  }

  // Frames.

  #headers(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId === 0 || streamId % 2 === 0) return this.broken(errorCode.protocolError, "HEADERS on no stream");
    let from = start;
    let to = end;
    if ((flags & flag.padded) !== 0) {
      if (from >= to) return this.broken(errorCode.frameSizeError, "HEADERS without its pad length");
      to -= bytes[from] as number;
      from += 1;
    }
    if ((flags & flag.priority) !== 0) {
      if (to - from < 5) return this.broken(errorCode.frameSizeError, "HEADERS without its priority");
      if (readUint31(bytes, from) === streamId) {
        return this.broken(errorCode.protocolError, "a stream that depends on itself");
      }
      from += 5;
    }
    if (from > to) return this.broken(errorCode.protocolError, "padding longer than its frame");
    const endStream = (flags & flag.endStream) !== 0;
    if ((flags & flag.endHeaders) !== 0) return this.#blockComplete(streamId, endStream, bytes, from, to);
    if (from === to && !this.#count("hollow")) return;
    this.#block = {
      streamId,
      endStream,
      since: this.#context.deadlines.now,
      parts: [Buffer.from(bytes.subarray(from, to))],
      size: to - from,
      continuations: 0,
    };
  }

  #continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined || block.streamId !== streamId) {
      return this.broken(errorCode.protocolError, "CONTINUATION of no header block");
    }
    block.continuations += 1;
    block.size += end - start;
    if (block.continuations > maxContinuations || block.size > maxBlockBytes) {
      return this.broken(floodCode, "header block too long");
    }
    if (start === end && !this.#count("hollow")) return;
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    if ((flags & flag.endHeaders) === 0) return;
    this.#block = undefined;
    const whole = Buffer.concat(block.parts);
    this.#blockComplete(streamId, block.endStream, whole, 0, whole.length);
  }

  #blockComplete(streamId: number, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    const { limits } = this.#context;
    head.start(limits.maxHeadBytes, limits.maxFields);
    if (!this.#decoder.decode(bytes, start, end, head)) {
      return this.broken(errorCode.compressionError, "header block cannot be decoded");
    }
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) return this.#trailers(stream, endStream);
    if (streamId <= this.#lastId) {
      if (!this.#resetByUs.has(streamId)) this.broken(errorCode.streamClosed, "HEADERS on a closed stream");
      return;
    }
    this.#lastId = streamId;
    if (this.#isDraining || this.#streams.size >= maxStreams) {
      this.#remember(streamId);
      this.output.number(frameType.rstStream, streamId, errorCode.refusedStream);
      this.#count("resets");
      return;
    }
    const request = readHead(head, this.#shared.scheme, limits.maxTargetBytes, endStream);
    if ("fault" in request) return this.#malformed(streamId, request, endStream);
    const opened = new Http2Stream(streamId, this, this.#shared, request, this.#initialSendWindow);
    this.#streams.set(streamId, opened);
    if (this.#streams.size === 1) this.expiresAt = this.#context.deadlines.now + lookMs;
    opened.exchange.start();
  }

  #trailers(stream: Http2Stream, endStream: boolean): void {
    if (stream.remoteEnded) return this.#streamError(stream, errorCode.streamClosed, "HEADERS behind the end");
    if (!endStream || head.hasPseudo || head.fault !== "" || head.tooLarge) {
      return this.#streamError(stream, errorCode.protocolError, head.fault || "invalid trailers");
    }
    const fields = head.build("");
    if (fields === undefined || !stream.receiveEnd(fields)) {
      this.#streamError(stream, errorCode.protocolError, "less DATA than content-length");
    }
  }

  #settings(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId !== 0) return this.broken(errorCode.protocolError, "SETTINGS on a stream");
    if ((flags & flag.ack) !== 0) {
      if (start !== end) this.broken(errorCode.frameSizeError, "SETTINGS acknowledgement with a payload");
      else this.#count("settings");
      return;
    }
    if ((end - start) % 6 !== 0) return this.broken(errorCode.frameSizeError, "SETTINGS of odd length");
    this.#settingsSeen = true;
    if (!this.#count("settings")) return;
    for (let at = start; at < end; at += 6) {
      const id = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
      const value = bytes.readUInt32BE(at + 2);
      const fault = this.#apply(id, value);
      if (fault !== 0) return this.broken(fault, `invalid setting ${id}`);
    }
    this.output.frame(frameType.settings, flag.ack, 0, noBytes);
    this.#pump();
  }

  /** Returns an error code, or 0. */
  #apply(id: number, value: number): number {
    switch (id) {
      case setting.headerTableSize:
        if (value < 4096) this.output.tableShrunk = true;
        return 0;
      case setting.enablePush:
      case setting.enableConnectProtocol:
        return value > 1 ? errorCode.protocolError : 0;
      case setting.maxFrameSize:
        return value < 16_384 || value > 16_777_215 ? errorCode.protocolError : 0;
      case setting.initialWindowSize: {
        if (value > maxWindow) return errorCode.flowControlError;
        const change = value - this.#initialSendWindow;
        this.#initialSendWindow = value;
        for (const stream of this.#streams.values()) {
          stream.sendWindow += change;
          if (stream.sendWindow > maxWindow) return errorCode.flowControlError;
          if (stream.hasQueue) this.#waiting.add(stream);
        }
        return 0;
      }
      default:
        return 0;
    }
  }

  #windowUpdate(streamId: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4) return this.broken(errorCode.frameSizeError, "WINDOW_UPDATE of wrong length");
    if (!this.#count("windowUpdates")) return;
    const increment = readUint31(bytes, start);
    if (streamId === 0) {
      if (increment === 0) return this.broken(errorCode.protocolError, "WINDOW_UPDATE of nothing");
      this.#sendWindow += increment;
      if (this.#sendWindow > maxWindow) return this.broken(errorCode.flowControlError, "window too large");
      this.#pump();
      return;
    }
    if (streamId > this.#lastId) return this.broken(errorCode.protocolError, "WINDOW_UPDATE on no stream");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0) return this.#streamError(stream, errorCode.protocolError, "WINDOW_UPDATE of nothing");
    stream.sendWindow += increment;
    if (stream.sendWindow > maxWindow) {
      return this.#streamError(stream, errorCode.flowControlError, "stream window too large");
    }
    if (stream.hasQueue) this.#waiting.add(stream);
    this.#pump();
  }

  #resetByClient(streamId: number, length: number): void {
    if (length !== 4) return this.broken(errorCode.frameSizeError, "RST_STREAM of wrong length");
    if (streamId === 0 || streamId > this.#lastId) {
      return this.broken(errorCode.protocolError, "RST_STREAM on no stream");
    }
    this.#streams.get(streamId)?.lost();
    this.#count("resets");
  }

  #ping(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId !== 0) return this.broken(errorCode.protocolError, "PING on a stream");
    if (end - start !== 8) return this.broken(errorCode.frameSizeError, "PING of wrong length");
    if (!this.#count("pings") || (flags & flag.ack) !== 0) return;
    this.output.frame(frameType.ping, flag.ack, 0, bytes.subarray(start, end));
  }

  /** Priorities are not followed (RFC 9113 §5.3.2), only checked. */
  #priority(streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId === 0) return this.broken(errorCode.protocolError, "PRIORITY on no stream");
    if (end - start !== 5) return this.broken(errorCode.frameSizeError, "PRIORITY of wrong length");
    if (readUint31(bytes, start) === streamId) {
      return this.broken(errorCode.protocolError, "a stream that depends on itself");
    }
    this.#count("priorities");
  }

  // What is wrong with a stream, and with a connection.

  #streamError(stream: Http2Stream, code: number, reason: string): void {
    this.#context.log.debug("HTTP/2 stream reset", { reason, request: stream.exchange.id });
    this.#remember(stream.id);
    stream.reset(code);
    this.#count("resets");
  }

  /** A request that never became one: answered where that says more than a reset. */
  #malformed(streamId: number, { fault, refusal }: Malformed, endStream: boolean): void {
    const { counters, log, clock } = this.#context;
    const id = newRequestId(clock.now());
    counters.malformed += 1;
    log.info("request refused", { reason: fault, source: this.#shared.facts.source, request: id });
    this.#remember(streamId);
    if (refusal === undefined) {
      this.output.number(frameType.rstStream, streamId, errorCode.protocolError);
    } else {
      const page = errorPage(refusal, id, undefined);
      const fields = emptyFields();
      for (const name in page.headers) fields.append(name, page.headers[name] as string);
      const body = Buffer.from(page.body as string);
      const fits = body.length <= Math.min(this.#sendWindow, this.#initialSendWindow);
      fields.append("content-length", String(body.length));
      this.output.head(streamId, page.status, fields, id, !fits);
      if (fits) {
        this.output.data(streamId, body, true);
        this.#sendWindow -= body.length;
      }
      if (!endStream) this.output.number(frameType.rstStream, streamId, errorCode.noError);
    }
    this.#count("resets");
  }

  /** Counts a nuisance; false when it was one too many, and the connection is over. */
  #count(nuisance: Nuisance): boolean {
    if (this.isDone) return false;
    if (this.#guard.allow(nuisance, this.#context.deadlines.now)) return true;
    this.broken(floodCode, `too many ${nuisance}`);
    return false;
  }

  #remember(streamId: number): void {
    this.#resetByUs.add(streamId);
    if (this.#resetByUs.size <= maxRemembered) return;
    for (const oldest of this.#resetByUs) {
      this.#resetByUs.delete(oldest);
      return;
    }
  }

  // StreamOwner.

  get room(): number {
    return this.output.isFull ? 0 : this.#sendWindow;
  }

  spent(byteCount: number): void {
    this.#sendWindow -= byteCount;
    this.#guard.earn();
  }

  credited(byteCount: number): void {
    this.#unreturned += byteCount;
    if (this.#unreturned < connectionWindowBytes / 4 || this.isDone) return;
    this.#receiveWindow += this.#unreturned;
    this.output.number(frameType.windowUpdate, 0, this.#unreturned);
    this.#unreturned = 0;
  }

  waits(stream: Http2Stream): void {
    if (stream.stalledSince === Infinity) stream.stalledSince = this.#context.deadlines.now;
    this.#waiting.add(stream);
  }

  gone(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
    this.#waiting.delete(stream);
    if (!stream.remoteEnded) this.#remember(stream.id);
    if (this.#streams.size > 0) return;
    this.#idleSince = this.#context.deadlines.now;
    if (this.#isDraining) this.#goAway(errorCode.noError, "");
  }

  /** One frame of each stream that waits, in turns, as long as there is room. */
  #pump(): void {
    for (const stream of this.#waiting) {
      if (this.room <= 0) return;
      // To the back: whoever was served waits for the others.
      this.#waiting.delete(stream);
      const more = stream.pump(1);
      stream.stalledSince = more ? this.#context.deadlines.now : Infinity;
      if (more && stream.sendWindow > 0) this.#waiting.add(stream);
      stream.resume();
    }
  }

  #drained(): void {
    this.#blockedSince = Infinity;
    if (this.isDone) return;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#pump();
    for (const stream of this.#streams.values()) stream.resume();
  }

  // Time.

  expired(): void {
    const { deadlines, limits } = this.#context;
    const { now } = deadlines;
    if (this.isDone) return this.destroy();
    this.expiresAt = now + lookMs;
    if (this.output.isFull) this.#blockedSince = Math.min(this.#blockedSince, now);
    if (now - this.#blockedSince > limits.writeTimeoutMs) return this.destroy();
    if (!this.#settingsSeen || (this.#block !== undefined && now - this.#block.since > limits.headTimeoutMs)) {
      return this.broken(errorCode.protocolError, "not complete in time");
    }
    if (this.#streams.size === 0) {
      if (now - this.#idleSince > limits.keepAliveMs) this.#goAway(errorCode.noError, "");
      return;
    }
    if (now - this.#bornAt > limits.maxConnectionAgeMs) this.drain();
    for (const stream of this.#streams.values()) this.#look(stream, now);
  }

  #look(stream: Http2Stream, now: number): void {
    const { limits } = this.#context;
    if (now - stream.stalledSince > limits.writeTimeoutMs) {
      this.#streamError(stream, errorCode.cancel, "the client takes nothing");
      return;
    }
    if (now - stream.bodySince < limits.bodyWindowMs) return;
    const slow = stream.windowBytes * 1000 < limits.minBodyBytesPerSecond * limits.bodyWindowMs;
    stream.windowBytes = 0;
    stream.bodySince = now;
    if (slow && stream.awaitsBody) stream.exchange.requestFailed("request_timeout");
  }

  // Beginning and end.

  #greet(): void {
    const settings = Buffer.alloc(5 * 6);
    let at = 0;
    const put = (id: number, value: number): void => {
      settings.writeUInt16BE(id, at);
      at = putUint32(settings, at + 2, value);
    };
    put(setting.maxConcurrentStreams, maxStreams);
    put(setting.initialWindowSize, streamWindowBytes);
    put(setting.maxHeaderListSize, this.#context.limits.maxHeadBytes);
    put(setting.enableConnectProtocol, 1);
    put(setting.noPriorities, 1);
    this.output.frame(frameType.settings, 0, 0, settings);
    this.output.number(frameType.windowUpdate, 0, connectionWindowBytes - defaultWindow);
  }

  #sendGoAway(code: number, reason: string): void {
    const payload = Buffer.alloc(8 + reason.length);
    putUint32(payload, 0, this.#lastId);
    putUint32(payload, 4, code);
    payload.write(reason, 8, "latin1");
    this.output.frame(frameType.goaway, 0, 0, payload);
  }

  /** Says why, and closes: what was being answered is cut short. */
  #goAway(code: number, reason: string): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#sendGoAway(code, reason);
    for (const stream of this.#streams.values()) stream.lost();
    this.output.flush();
    this.#socket.end();
    if (this.#socket.isPaused()) this.#socket.resume();
    this.expiresAt = this.#context.deadlines.now + lingerMs;
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.isDone = true;
    const { deadlines, connections, counters } = this.#context;
    deadlines.delete(this);
    connections.delete(this);
    counters.openConnections -= 1;
    for (const stream of this.#streams.values()) stream.lost();
    this.#socket.destroySoon();
  }
}

const noBytes = Buffer.alloc(0);
