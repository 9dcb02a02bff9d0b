import type { TLSSocket } from "node:tls";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import { ClientConnection } from "../http/visitor-connection.ts";
import type { HttpContext, ServedConnection, SiteLookup } from "../http/http-context.ts";
import { reportFailure } from "../../lib/boundary.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Timed } from "../../lib/deadlines.ts";
import { WindowBudget } from "../../lib/io/receive-window.ts";
import { readInTurns } from "../../lib/io/turn-reader.ts";
import type { SocketReader, TurnReader } from "../../lib/io/turn-reader.ts";
import { addWork, beginShare, spendShare } from "../../lib/slices.ts";
import type { SlicedWork } from "../../lib/slices.ts";
import { checkFrame } from "../../http2/check-frame.ts";
import { DataReceiver } from "./data-receiver.ts";
import type { Faults } from "./faults.ts";
import { FloodGuard } from "../../http2/flood-guard.ts";
import type { Nuisance } from "../../http2/flood-guard.ts";
import { FrameReader } from "../../http2/http2-frame-reader.ts";
import type { FrameHandler } from "../../http2/http2-frame-reader.ts";
import { errorCode, flag, frameType, maxWindow, putUint32, readUint31, setting } from "../../http2/http2-frames.ts";
import { HeaderReceiver } from "./header-receiver.ts";
import { Http2Output } from "./output.ts";
import { PeerSettings, renderSettings } from "../../http2/peer-settings.ts";
import type { Http2Stream } from "./http2-stream.ts";
import { maxStreams, StreamSet } from "./stream-set.ts";
import { noBytes } from "../../lib/no-bytes.ts";

/** Initial receive window of a stream, bytes. A window that limits the client's rate grows (D1). */
const streamWindowBytes = 64 * 1024;
/** Maximum assumed round trip, milliseconds. Longer ones are rare, even by satellite. */
const maxRoundTripMs = 1_000;
/** See decision 31. */
const maxStreamWindowBytes = 8 * 1024 * 1024;
/** Interval at which a connection is checked for stalled streams, milliseconds. */
const lookMs = 2500;
/**
 * Time for which the client's bytes are discarded after the last frame, so that the client can read that frame,
 * milliseconds.
 */
const lingerMs = 1000;
/** Stream id of a GOAWAY that keeps every stream valid. */
const maxStreamId = 0x7fff_ffff;

/**
 * Serves HTTP/2 (RFC 9113) on a connection that negotiated it in the TLS handshake. Calls `sites` for each request. The
 * connection takes ownership of the socket.
 *
 * @param first bytes that were already read from the socket
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

class Http2Connection implements Faults, FrameHandler, ServedConnection, SlicedWork, SocketReader, Timed {
  expiresAt: number;
  place = -1;
  isDone = false;
  readonly #socket: TLSSocket;
  readonly #shared: ClientConnection;
  readonly #context: HttpContext;
  readonly #output: Http2Output;
  readonly #reader = new FrameReader(this);
  readonly #arrivals: TurnReader;
  readonly #watch: Timer;
  readonly #peer = new PeerSettings();
  readonly #guard: FloodGuard;
  readonly #windows: WindowBudget;
  readonly #streams: StreamSet;
  readonly #headers: HeaderReceiver;
  readonly #data: DataReceiver;
  readonly #bornAt: number;
  /** Time at which our SETTINGS were sent, in `Clock.monotonic`. */
  readonly #greetedAt: number;
  /** Bytes that wait for a slice, in order. */
  #unread: readonly Buffer[] = none;
  #settingsSeen = false;
  #isClosed = false;
  #blockedSince = Infinity;
  /** Whether the client must be told to reconnect after its first request. */
  #isRetiring = false;
  /** Whether the client was told to reconnect. Streams already on their way are still accepted. */
  #isTold = false;

  constructor(socket: TLSSocket, shared: ClientConnection) {
    const { context } = shared;
    this.#socket = socket;
    this.#shared = shared;
    shared.carrier = this;
    this.#context = context;
    this.#output = new Http2Output(socket);
    const { now } = context.deadlines;
    this.#guard = new FloodGuard(now);
    this.#windows = new WindowBudget(context.clock, streamWindowBytes);
    this.#windows.allow(maxStreamWindowBytes, context.uploadWindows);
    this.#streams = new StreamSet(this.#output, this.#windows, context.deadlines, {
      credited: (byteCount) => this.#data.credited(byteCount),
      sentData: () => this.#guard.earn(),
      empty: () => {
        if (this.#headers.isDraining) this.#goAway(errorCode.noError, "");
      },
    });
    this.#headers = new HeaderReceiver(shared, this.#streams, this.#peer, this);
    this.#data = new DataReceiver(this.#output, this.#streams, this);
    this.#bornAt = now;
    this.#greetedAt = context.clock.monotonic();
    this.expiresAt = now + context.limits.headTimeoutMs;
    this.#watch = context.deadlines.add(this);
    context.connections.add(this);
    context.counters.openConnections += 1;
    this.#arrivals = readInTurns(socket, this);
    this.#greet();
  }

  receive(bytes: Buffer): void {
    if (this.isDone) return;
    if (this.#unread.length > 0) {
      this.#unread = [...this.#unread, bytes];
      return;
    }
    this.#read(bytes);
    if (this.#unread.length > 0) addWork(this.#shared.facts.source, this);
  }

  /** Other connections go first where what this one sent at once needs more time than its share of a turn. */
  slice(): boolean {
    const [bytes, ...others] = this.#unread;
    this.#unread = others;
    if (bytes === undefined || this.isDone) return true;
    this.#read(bytes);
    if (this.#unread.length > 0) return false;
    this.#resume();
    return true;
  }

  #read(bytes: Buffer): void {
    beginShare();
    const end = this.#reader.read(bytes);
    if (this.isDone) return;
    if (end < bytes.length) this.#unread = [bytes.subarray(end), ...this.#unread];
    // Responses pile up because the client does not read them.
    if (this.#output.isFull) this.#blockedSince = Math.min(this.#blockedSince, this.#context.deadlines.now);
    if (this.#mustPause) this.#socket.pause();
  }

  get #mustPause(): boolean {
    return this.#output.isFull || this.#unread.length > 0;
  }

  #resume(): void {
    if (!this.#mustPause && this.#socket.isPaused()) this.#socket.resume();
  }

  get mayBeAsked(): boolean {
    return !this.#isTold;
  }

  /**
   * Sends the first of two GOAWAYs. It keeps every stream valid, because requests may be on their way (RFC 9113 §6.8).
   */
  retire(): void {
    if (this.#headers.isDraining || this.isDone) return;
    this.#isRetiring = this.#streams.lastId === 0;
    if (this.#isRetiring || this.#isTold) return;
    this.#isTold = true;
    this.#sendGoAway(errorCode.noError, "", maxStreamId);
  }

  drain(): void {
    this.#arrivals.turn();
    if (this.#headers.isDraining || this.isDone) return;
    this.#headers.isDraining = true;
    if (this.#streams.size === 0) this.#goAway(errorCode.noError, "");
    else this.#sendGoAway(errorCode.noError, "");
  }

  leave(): boolean {
    let hasWebSocket = false;
    for (const stream of this.#streams.all()) hasWebSocket = stream.exchange.leave() || hasWebSocket;
    return hasWebSocket;
  }

  destroy(): void {
    this.#socket.destroy();
    this.closed();
  }

  // Implementation of Faults.

  broken(code: number, reason: string): void {
    this.#context.counters.malformed += 1;
    this.#context.log.info("HTTP/2 connection rejected", { reason, code, source: this.#shared.facts.source });
    this.#goAway(code, reason);
  }

  streamError(stream: Http2Stream, code: number, reason: string): void {
    this.#context.log.debug("HTTP/2 stream reset", { reason, request: stream.exchange.id });
    stream.reset(code);
    this.count("resets");
  }

  count(nuisance: Nuisance): boolean {
    if (this.isDone) return false;
    if (this.#guard.allow(nuisance, this.#context.deadlines.now)) return true;
    this.broken(errorCode.enhanceYourCalm, `too many ${nuisance}`);
    return false;
  }

  // Implementation of FrameHandler.

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    try {
      this.#frame(type, flags, streamId, bytes, start, end);
    } catch (error) {
      this.#broke(streamId, error);
    }
  }

  #frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#headers.openSince !== Infinity && type !== frameType.continuation) {
      return this.broken(errorCode.protocolError, "a frame inside a header block");
    }
    if (!this.#settingsSeen && type !== frameType.settings) {
      return this.broken(errorCode.protocolError, "the first frame is not SETTINGS");
    }
    const fault = checkFrame(type, flags, streamId, this.#streams.lastId, bytes, start, end);
    if (fault !== undefined) return this.broken(fault.code, fault.reason);
    switch (type) {
      case frameType.headers:
        this.#headers.headers(flags, streamId, bytes, start, end);
        if (this.#isRetiring) this.retire();
        if (spendShare()) this.#reader.stop();
        return;
      case frameType.continuation:
        this.#headers.continuation(flags, streamId, bytes, start, end);
        if (spendShare()) this.#reader.stop();
        return;
      case frameType.settings:
        return this.#settings(flags, bytes, start, end);
      case frameType.windowUpdate:
        return this.#windowUpdate(streamId, readUint31(bytes, start));
      case frameType.rstStream:
        this.#streams.get(streamId)?.lost();
        this.#streams.answeredEarly.lost(streamId);
        this.count("resets");
        return;
      case frameType.ping:
        if (!this.count("pings") || (flags & flag.ack) !== 0) return;
        this.#output.frame(frameType.ping, flag.ack, 0, bytes.subarray(start, end));
        return;
      case frameType.priority:
        // Priorities are ignored (RFC 9113 §5.3.2).
        this.count("priorities");
        return;
      case frameType.goaway:
        this.#headers.isDraining = true;
        return;
      default:
        this.count("hollow");
    }
  }

  dataBegins(flags: number, streamId: number, length: number, padding: number): void {
    if (this.#headers.openSince === Infinity) this.#data.begin(flags, streamId, length, padding);
    else this.broken(errorCode.protocolError, "DATA inside a header block");
  }

  data(bytes: Buffer): void {
    try {
      this.#data.take(bytes);
    } catch (error) {
      this.#broke(this.#data.streamId, error);
    }
  }

  dataEnds(flags: number): void {
    const { streamId } = this.#data;
    try {
      this.#data.end(flags);
    } catch (error) {
      this.#broke(streamId, error);
    }
  }

  /** Ends the stream whose frame led to an error, or the connection if the stream is unknown. */
  #broke(streamId: number, error: unknown): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) this.broke(error);
    else stream.broke(error);
  }

  // Other frames.

  #settings(flags: number, bytes: Buffer, start: number, end: number): void {
    const isAck = (flags & flag.ack) !== 0;
    if (!isAck) this.#settingsSeen = true;
    if (!this.count("settings")) return;
    if (isAck) {
      // The only acknowledgement, of the initial SETTINGS. The limit ignores clients that delay it.
      const tookMs = this.#context.clock.monotonic() - this.#greetedAt;
      if (this.#windows.roundTripMs === 0) this.#windows.roundTripMs = Math.min(tookMs, maxRoundTripMs);
      return;
    }
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
    if (!this.count("windowUpdates")) return;
    if (streamId === 0) {
      this.#streams.sendWindow += increment;
      if (increment === 0) return this.broken(errorCode.protocolError, "a WINDOW_UPDATE of 0 bytes");
      if (this.#streams.sendWindow > maxWindow) return this.broken(errorCode.flowControlError, "window too large");
    } else {
      const stream = this.#streams.get(streamId);
      if (stream === undefined) return;
      if (increment === 0) return this.streamError(stream, errorCode.protocolError, "a WINDOW_UPDATE of 0 bytes");
      if (!this.#streams.widenOne(stream, increment)) {
        return this.streamError(stream, errorCode.flowControlError, "window too large");
      }
    }
    this.#streams.pump();
  }

  drained(): void {
    this.#blockedSince = Infinity;
    if (this.isDone) return;
    this.#resume();
    this.#streams.resume();
  }

  // Timeouts.

  expired(): void {
    const { deadlines, limits } = this.#context;
    const { now } = deadlines;
    if (this.isDone) return this.destroy();
    this.expiresAt = now + lookMs;
    if (this.#output.isFull) this.#blockedSince = Math.min(this.#blockedSince, now);
    if (now - this.#blockedSince > limits.writeTimeoutMs) return this.destroy();
    if (!this.#settingsSeen || now - this.#headers.openSince > limits.headTimeoutMs) {
      return this.broken(errorCode.protocolError, "not complete in time");
    }
    if (now - this.#streams.idleSince > limits.keepAliveMs) return this.#goAway(errorCode.noError, "");
    if (now - this.#bornAt > limits.maxConnectionAgeMs) this.drain();
    this.#streams.answeredEarly.look();
    for (const stream of this.#streams.all()) {
      stream.exchange.lasts();
      if (now - stream.stalledSince > limits.writeTimeoutMs) {
        this.streamError(stream, errorCode.cancel, "the client reads no data");
      } else if (now - stream.waitingSince >= limits.writeTimeoutMs) {
        const isSlow = stream.takenBytes * 1000 < limits.minBodyBytesPerSecond * limits.writeTimeoutMs;
        stream.takenBytes = 0;
        stream.waitingSince = now;
        if (isSlow) this.streamError(stream, errorCode.cancel, "the client takes the response too slowly");
      } else if (now - stream.bodySince >= limits.bodyWindowMs) {
        const isSlow = stream.windowBytes * 1000 < limits.minBodyBytesPerSecond * limits.bodyWindowMs;
        stream.windowBytes = 0;
        stream.bodySince = now;
        if (isSlow && stream.awaitsBody) stream.exchange.requestFailed("request_timeout");
      }
    }
  }

  // Lifecycle.

  #greet(): void {
    const settings = renderSettings([
      [setting.maxConcurrentStreams, maxStreams],
      [setting.initialWindowSize, streamWindowBytes],
      [setting.maxHeaderListSize, this.#context.limits.maxHeadBytes],
      [setting.enableConnectProtocol, 1],
      [setting.noPriorities, 1],
    ]);
    this.#output.frame(frameType.settings, 0, 0, settings);
    this.#data.open();
  }

  #sendGoAway(code: number, reason: string, lastId = this.#streams.lastId): void {
    const payload = Buffer.alloc(8 + reason.length);
    putUint32(payload, 0, lastId);
    putUint32(payload, 4, code);
    payload.write(reason, 8, "latin1");
    this.#output.frame(frameType.goaway, 0, 0, payload);
  }

  /** Sends GOAWAY with the reason and closes. Responses in progress are cut. */
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

  ended(): void {
    this.closed();
  }

  /** Errors of the client's socket need no handling, because `closed` follows. */
  failed(): void {}

  broke(error: unknown): void {
    reportFailure("connection", error, { source: this.#shared.facts.source });
    this.#goAway(errorCode.internalError, "");
  }

  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.isDone = true;
    const { connections, counters } = this.#context;
    this.#watch.cancel();
    connections.delete(this);
    counters.openConnections -= 1;
    for (const stream of this.#streams.all()) stream.lost();
    this.#socket.destroySoon();
  }
}

const none: readonly Buffer[] = [];
