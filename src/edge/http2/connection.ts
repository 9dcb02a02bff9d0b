import type { TLSSocket } from "node:tls";
import type { ConnectionFacts } from "../../modules/exchange.ts";
import { ClientConnection } from "../http/client-connection.ts";
import type { HttpContext, ServedConnection, SiteLookup } from "../http/context.ts";
import type { Timed } from "../http/deadlines.ts";
import { newRequestId } from "../http/request-id.ts";
import { checkFrame } from "./check-frame.ts";
import { FloodGuard } from "./flood-guard.ts";
import type { Nuisance } from "./flood-guard.ts";
import { FrameReader } from "./frame-reader.ts";
import type { FrameHandler } from "./frame-reader.ts";
import { defaultWindow, errorCode, flag, frameType, maxWindow, putUint32, readUint31, setting } from "./frames.ts";
import { HeadBuilder } from "./head-builder.ts";
import { HeaderBlocks, hollow, unfinished } from "./header-blocks.ts";
import type { BlockProgress } from "./header-blocks.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { Http2Output } from "./output.ts";
import { PeerSettings, renderSettings } from "./peer-settings.ts";
import { answerRefusal } from "./refusal.ts";
import { readHead } from "./request-head.ts";
import type { Malformed } from "./request-head.ts";
import { Http2Stream, streamWindowBytes } from "./stream.ts";
import { maxStreams, StreamSet } from "./stream-set.ts";

/** Body bytes of all streams that a client may send ahead of what was taken on (D1). */
const connectionWindowBytes = 1024 * 1024;
/** How often a connection is looked at for what does not move. */
const lookMs = 2500;
/** After the last frame the client's bytes are read and dropped for so long, so that it can read that frame. */
const lingerMs = 1000;

/** One for all connections: a block is decoded in one go. */
const head = new HeadBuilder();

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

class Http2Connection implements FrameHandler, ServedConnection, Timed {
  expiresAt: number;
  isDone = false;
  readonly #socket: TLSSocket;
  readonly #shared: ClientConnection;
  readonly #context: HttpContext;
  readonly #output: Http2Output;
  readonly #reader = new FrameReader(this);
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HpackDecoder();
  readonly #peer = new PeerSettings();
  readonly #guard: FloodGuard;
  readonly #streams: StreamSet;
  readonly #bornAt: number;
  /** What the client may still send of DATA. */
  #receiveWindow = connectionWindowBytes;
  #unreturned = 0;
  /** Stream of the DATA frame being read; undefined when its bytes are dropped. */
  #reading: Http2Stream | undefined;
  #settingsSeen = false;
  #isDraining = false;
  #isClosed = false;
  #blockedSince = Infinity;

  constructor(socket: TLSSocket, shared: ClientConnection) {
    const { context } = shared;
    this.#socket = socket;
    this.#shared = shared;
    this.#context = context;
    this.#output = new Http2Output(socket);
    const { now } = context.deadlines;
    this.#guard = new FloodGuard(now);
    this.#streams = new StreamSet(this.#output, context.deadlines, {
      credited: (byteCount) => this.#credited(byteCount),
      sentData: () => this.#guard.earn(),
      empty: () => {
        if (this.#isDraining) this.#goAway(errorCode.noError, "");
      },
    });
    this.#bornAt = now;
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
    if (!this.#output.isFull) return;
    // What the client asks for piles up because it does not read the answers.
    this.#blockedSince = Math.min(this.#blockedSince, this.#context.deadlines.now);
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
    if (this.#blocks.openSince !== Infinity && type !== frameType.continuation) {
      return this.broken(errorCode.protocolError, "a frame inside a header block");
    }
    if (!this.#settingsSeen && type !== frameType.settings) {
      return this.broken(errorCode.protocolError, "the first frame is not SETTINGS");
    }
    const fault = checkFrame(type, flags, streamId, this.#streams.lastId, bytes, start, end);
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
        this.#streams.get(streamId)?.lost();
        this.#count("resets");
        return;
      case frameType.ping:
        if (!this.#count("pings") || (flags & flag.ack) !== 0) return;
        this.#output.frame(frameType.ping, flag.ack, 0, bytes.subarray(start, end));
        return;
      case frameType.priority:
        // Not followed (RFC 9113 §5.3.2).
        this.#count("priorities");
        return;
      case frameType.goaway:
        this.#isDraining = true;
        return;
      default:
        this.#count("hollow");
    }
  }

  dataBegins(flags: number, streamId: number, length: number, padding: number): void {
    this.#reading = undefined;
    if (this.#blocks.openSince !== Infinity || streamId === 0 || streamId > this.#streams.lastId) {
      return this.broken(errorCode.protocolError, "DATA on no stream");
    }
    if (length === padding && (flags & flag.endStream) === 0 && !this.#count("hollow")) return;
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) return this.broken(errorCode.flowControlError, "more DATA than the window");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      this.#credited(length);
      if (!this.#streams.wasReset(streamId)) this.broken(errorCode.streamClosed, "DATA on a closed stream");
      return;
    }
    stream.receiveWindow -= length;
    if (stream.remoteEnded || stream.receiveWindow < 0) {
      this.#credited(length);
      const code = stream.remoteEnded ? errorCode.streamClosed : errorCode.flowControlError;
      return this.#streamError(stream, code, "more DATA than may come");
    }
    this.#reading = stream;
    if (padding > 0) stream.skipped(padding);
  }

  data(bytes: Buffer): void {
    const stream = this.#reading;
    // Given back when the frame began, where its stream was closed already.
    if (stream === undefined) return;
    if (stream.isGone) {
      this.#credited(bytes.length);
    } else if (!stream.receive(bytes)) {
      this.#credited(bytes.length);
      this.#streamError(stream, errorCode.protocolError, "more DATA than content-length");
    }
  }

  dataEnds(flags: number): void {
    const stream = this.#reading;
    this.#reading = undefined;
    if (stream === undefined || stream.isGone || (flags & flag.endStream) === 0) return;
    if (stream.receiveEnd(undefined)) return;
    this.#streamError(stream, errorCode.protocolError, "less DATA than content-length");
  }

  // Header blocks.

  #block(block: BlockProgress): void {
    if (block === unfinished) return;
    if (block === hollow) {
      this.#count("hollow");
      return;
    }
    if ("code" in block) return this.broken(block.code, block.reason);
    const { limits } = this.#context;
    head.start(limits.maxHeadBytes, limits.maxFields);
    if (!this.#decoder.decode(block.bytes, block.start, block.end, head)) {
      return this.broken(errorCode.compressionError, "header block cannot be decoded");
    }
    const stream = this.#streams.get(block.streamId);
    if (stream !== undefined) this.#trailers(stream, block.endStream);
    else this.#request(block.streamId, block.endStream);
  }

  #request(streamId: number, endStream: boolean): void {
    const streams = this.#streams;
    if (streamId <= streams.lastId) {
      if (!streams.wasReset(streamId)) this.broken(errorCode.streamClosed, "HEADERS on a closed stream");
      return;
    }
    streams.lastId = streamId;
    if (this.#isDraining || streams.size >= maxStreams) {
      streams.refuse(streamId, errorCode.refusedStream);
      this.#count("resets");
      return;
    }
    const request = readHead(head, this.#shared.scheme, this.#context.limits.maxTargetBytes, endStream);
    if ("fault" in request) return this.#malformed(streamId, request, endStream);
    const opened = new Http2Stream(streamId, streams, this.#shared, request, this.#peer.initialWindow);
    streams.add(opened);
    opened.exchange.start();
  }

  /** A request that never became one: answered where that says more than a reset. */
  #malformed(streamId: number, { fault, refusal }: Malformed, endStream: boolean): void {
    const { counters, log, clock } = this.#context;
    const id = newRequestId(clock.now());
    counters.malformed += 1;
    log.info("request refused", { reason: fault, source: this.#shared.facts.source, request: id });
    const streams = this.#streams;
    if (refusal === undefined) {
      streams.refuse(streamId, errorCode.protocolError);
    } else {
      const room = Math.min(streams.room, this.#peer.initialWindow);
      streams.sendWindow -= answerRefusal(this.#output, streamId, refusal, id, room);
      streams.refuse(streamId, endStream ? undefined : errorCode.noError);
    }
    this.#count("resets");
  }

  #trailers(stream: Http2Stream, endStream: boolean): void {
    if (stream.remoteEnded) return this.#streamError(stream, errorCode.streamClosed, "HEADERS behind the end");
    const isValid = endStream && !head.hasPseudo && head.fault === "" && !head.tooLarge;
    const fields = isValid ? head.build("") : undefined;
    if (fields !== undefined && stream.receiveEnd(fields)) return;
    this.#streamError(stream, errorCode.protocolError, head.fault || "invalid trailers");
  }

  // Other frames.

  #settings(flags: number, bytes: Buffer, start: number, end: number): void {
    const isAck = (flags & flag.ack) !== 0;
    if (!isAck) this.#settingsSeen = true;
    if (!this.#count("settings") || isAck) return;
    const before = this.#peer.initialWindow;
    let fault = this.#peer.read(bytes, start, end);
    if (!this.#streams.widen(this.#peer.initialWindow - before)) fault ||= errorCode.flowControlError;
    if (fault !== 0) return this.broken(fault, "invalid SETTINGS");
    this.#output.tableShrunk ||= this.#peer.tableShrunk;
    this.#peer.tableShrunk = false;
    this.#output.frame(frameType.settings, flag.ack, 0, noBytes);
    this.#streams.pump();
  }

  #windowUpdate(streamId: number, increment: number): void {
    if (!this.#count("windowUpdates")) return;
    if (streamId === 0) {
      this.#streams.sendWindow += increment;
      if (increment === 0) return this.broken(errorCode.protocolError, "WINDOW_UPDATE of nothing");
      if (this.#streams.sendWindow > maxWindow) return this.broken(errorCode.flowControlError, "window too large");
    } else {
      const stream = this.#streams.get(streamId);
      if (stream === undefined) return;
      if (increment === 0) return this.#streamError(stream, errorCode.protocolError, "WINDOW_UPDATE of nothing");
      if (!this.#streams.widenOne(stream, increment)) {
        return this.#streamError(stream, errorCode.flowControlError, "window too large");
      }
    }
    this.#streams.pump();
  }

  #streamError(stream: Http2Stream, code: number, reason: string): void {
    this.#context.log.debug("HTTP/2 stream reset", { reason, request: stream.exchange.id });
    stream.reset(code);
    this.#count("resets");
  }

  /** Counts a nuisance; false when it was one too many, and the connection is over. */
  #count(nuisance: Nuisance): boolean {
    if (this.isDone) return false;
    if (this.#guard.allow(nuisance, this.#context.deadlines.now)) return true;
    this.broken(errorCode.enhanceYourCalm, `too many ${nuisance}`);
    return false;
  }

  /** Body bytes need no more room in the client's window. */
  #credited(byteCount: number): void {
    this.#unreturned += byteCount;
    if (this.#unreturned < connectionWindowBytes / 4 || this.isDone) return;
    this.#receiveWindow += this.#unreturned;
    this.#output.number(frameType.windowUpdate, 0, this.#unreturned);
    this.#unreturned = 0;
  }

  #drained(): void {
    this.#blockedSince = Infinity;
    if (this.isDone) return;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#streams.resume();
  }

  // Time.

  expired(): void {
    const { deadlines, limits } = this.#context;
    const { now } = deadlines;
    if (this.isDone) return this.destroy();
    this.expiresAt = now + lookMs;
    if (this.#output.isFull) this.#blockedSince = Math.min(this.#blockedSince, now);
    if (now - this.#blockedSince > limits.writeTimeoutMs) return this.destroy();
    if (!this.#settingsSeen || now - this.#blocks.openSince > limits.headTimeoutMs) {
      return this.broken(errorCode.protocolError, "not complete in time");
    }
    if (now - this.#streams.idleSince > limits.keepAliveMs) return this.#goAway(errorCode.noError, "");
    if (now - this.#bornAt > limits.maxConnectionAgeMs) this.drain();
    for (const stream of this.#streams.all()) {
      if (now - stream.stalledSince > limits.writeTimeoutMs) {
        this.#streamError(stream, errorCode.cancel, "the client takes nothing");
      } else if (now - stream.bodySince >= limits.bodyWindowMs) {
        const isSlow = stream.windowBytes * 1000 < limits.minBodyBytesPerSecond * limits.bodyWindowMs;
        stream.windowBytes = 0;
        stream.bodySince = now;
        if (isSlow && stream.awaitsBody) stream.exchange.requestFailed("request_timeout");
      }
    }
  }

  // Beginning and end.

  #greet(): void {
    const settings = renderSettings([
      [setting.maxConcurrentStreams, maxStreams],
      [setting.initialWindowSize, streamWindowBytes],
      [setting.maxHeaderListSize, this.#context.limits.maxHeadBytes],
      [setting.enableConnectProtocol, 1],
      [setting.noPriorities, 1],
    ]);
    this.#output.frame(frameType.settings, 0, 0, settings);
    this.#output.number(frameType.windowUpdate, 0, connectionWindowBytes - defaultWindow);
  }

  #sendGoAway(code: number, reason: string): void {
    const payload = Buffer.alloc(8 + reason.length);
    putUint32(payload, 0, this.#streams.lastId);
    putUint32(payload, 4, code);
    payload.write(reason, 8, "latin1");
    this.#output.frame(frameType.goaway, 0, 0, payload);
  }

  /** Says why, and closes: what was being answered is cut short. */
  #goAway(code: number, reason: string): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#sendGoAway(code, reason);
    for (const stream of this.#streams.all()) stream.lost();
    this.#output.flush();
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
    for (const stream of this.#streams.all()) stream.lost();
    this.#socket.destroySoon();
  }
}

const noBytes = Buffer.alloc(0);
