/**
 * Many streams over one connection, for both ends (agent-protocol, "Frames"). The agent opens the streams with odd ids.
 * Writes of an event-loop turn are sent at its end, one frame per stream in turn.
 */
import type { Socket } from "node:net";
import { runContained, endUnit } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import { readInTurns } from "../../lib/io/turn-reader.ts";
import { WindowBudget } from "../../lib/io/receive-window.ts";
import { LostStream, UnusedStream } from "../../lib/io/lost-stream.ts";
import {
  errorCode,
  Goodbye,
  flagFin,
  flagSyn,
  frameType,
  initialWindow,
  maxWindow,
  ProtocolViolation,
  unusedStreamId,
} from "./frame.ts";
import { FrameReader } from "./mux-frame-reader.ts";
import type { FrameHandler } from "./mux-frame-reader.ts";
import { Outbox } from "./outbox.ts";
import { MuxStream } from "./mux-stream.ts";
import type { StreamHost } from "./mux-stream.ts";
import { TokenBucket } from "./token-bucket.ts";

/** Maximum payload per turn, bytes. The rest waits for the next turn, so that input is also processed. */
const maxPerTurn = 256 * 1024;

/** Maximum rate of frames without effect (empty, unknown, for closed streams). Above it the session ends. */
const idleFramesPerSecond = 2000;
const idleFrameBurst = 20_000;

/** Maximum number of late frames for a stream that we opened and closed: one window in frames of Rust agents (§2.3). */
const idleFramesPerStream = 64;

/** Time after which a peer that does not read our GOAWAY is cut off. */
const goodbyeMs = 1000;

export interface MuxOptions {
  readonly side: "agent" | "server";
  readonly clock: Clock;
  /** Maximum number of open streams of the peer. Further streams are refused. */
  readonly maxIncoming: number;
  /** Whether the peer uses Nagle's algorithm (A1). */
  readonly answersAtOnce: boolean;
}

export interface MuxHandler {
  /** Called for a stream of the peer. Set `receiver` before returning. */
  incoming(stream: MuxStream): void;
  /** Called when a receiver threw. */
  bug(error: unknown): void;
  /** Called once, after every stream was closed. `error` is set unless `close` was called. */
  closed(error: Error | undefined): void;
}

export class Mux implements StreamHost, FrameHandler, TurnTask {
  readonly outbox: Outbox;
  readonly windows: WindowBudget;
  readonly #socket: Socket;
  readonly #handler: MuxHandler;
  readonly #clock: Clock;
  readonly #reader: FrameReader;
  readonly #idleFrames: TokenBucket;
  readonly #streams = new Map<number, MuxStream>();
  /** Streams with data to send, in order of their turns. Served ones are removed in batches. */
  #ready: MuxStream[] = [];
  #served = 0;
  #nextId: number;
  #incomingCount = 0;
  #lastIncomingId = 0;
  #current: MuxStream | undefined;
  #currentFlags = 0;
  #scheduled = false;
  #over = false;
  /** A1: whether bytes arrived in this turn, and whether bytes arrived in the previous turn without a write since. */
  #heard = false;
  #unanswered = false;
  /** Number of received bytes, to distinguish a silent peer from a busy one. */
  bytesReceived = 0;
  /** Time of the last received bytes, see `Clock.monotonic`. */
  heardAt: number;
  maxIncoming: number;
  answersAtOnce: boolean;
  /** Value until the kind of agent is known. */
  sleepsThroughResets: boolean;
  /**
   * Whether both ends report which streams they have not processed: by the last stream id of GOAWAY, and by the codes
   * of resets. Rust agents report a stream id without meaning.
   */
  reportsUnused = false;

  /** The socket must be connected. No other code may read or write it. */
  constructor(socket: Socket, options: MuxOptions, handler: MuxHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#clock = options.clock;
    this.heardAt = options.clock.monotonic();
    this.#nextId = options.side === "agent" ? 3 : 2;
    this.maxIncoming = options.maxIncoming;
    this.answersAtOnce = options.answersAtOnce;
    this.sleepsThroughResets = options.side === "server";
    this.windows = new WindowBudget(options.clock, initialWindow);
    this.outbox = new Outbox(socket, () => this.#socketTook());
    this.#reader = new FrameReader(this);
    this.#idleFrames = new TokenBucket(options.clock, idleFramesPerSecond, idleFrameBurst);
    socket.setNoDelay(true);
    readInTurns(socket, {
      broke: (error) => this.broke(error),
      receive: (bytes) => this.#heardFrom(bytes),
      // The outbox is notified of each finished write.
      drained: () => undefined,
      ended: () => this.#finish(new Error("peer closed the connection")),
      failed: (error) => this.#finish(error),
      closed: () => this.#finish(new Error("connection closed")),
    });
  }

  get over(): boolean {
    return this.#over;
  }

  /** Number of open streams of both sides. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** Tells the receivers of all streams that the other end has been silent for some seconds. */
  stalled(): void {
    for (const { receiver } of Array.from(this.#streams.values())) runContained("stream", () => receiver.stalled?.());
  }

  /** Number of open streams of the peer. */
  get incomingCount(): number {
    return this.#incomingCount;
  }

  /**
   * Opens a stream, which the first write announces to the peer. Returns undefined if the session has ended or has no
   * ids left.
   */
  open(): MuxStream | undefined {
    if (this.#over || this.#nextId >= unusedStreamId) return undefined;
    const stream = new MuxStream(this, this.#nextId, true);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** Ends every stream, sends GOAWAY and closes the connection. */
  close(code: number, text: string): void {
    if (this.#over) return;
    this.#sayGoodbye(code, text);
    this.#finish(undefined);
  }

  /** Like `close`, for a peer that violated the protocol or stopped responding. */
  fail(violation: ProtocolViolation): void {
    if (!this.#over) this.#fail(violation);
  }

  /** Ends the session because its own code threw. */
  broke(error: unknown): void {
    this.#fail(error);
  }

  ready(stream: MuxStream): void {
    if (stream.isReady) return;
    stream.isReady = true;
    this.#ready.push(stream);
    this.schedule();
  }

  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    putOff(this, phase.tunnels);
  }

  tellClosed(stream: MuxStream, error: Error | undefined): void {
    process.nextTick(notifyClosed, stream, error);
  }

  forget(stream: MuxStream): void {
    if (!this.#streams.delete(stream.id)) return;
    if (this.#isOurs(stream.id)) this.#idleFrames.give(idleFramesPerStream);
    else this.#incomingCount -= 1;
  }

  dataBegins(streamId: number, flags: number, length: number): boolean {
    const stream = this.#streams.get(streamId) ?? (flags & flagSyn ? this.#accept(streamId) : undefined);
    if (!stream || stream.peerEnded) {
      if (!this.#over) this.#dataForGoneStream(streamId, flags, length, stream !== undefined);
      return false;
    }
    if (!stream.announced(length)) {
      throw new ProtocolViolation(errorCode.flowControl, `stream ${streamId}: more data than credit`);
    }
    if (length === 0 && (flags & (flagFin | flagSyn)) === 0) this.#idleFrame();
    this.#current = stream;
    this.#currentFlags = flags;
    return !this.#over;
  }

  data(bytes: Buffer): void {
    const stream = this.#current as MuxStream;
    if (stream.over) return;
    try {
      stream.receiver.data(bytes);
    } catch (error) {
      stream.broke(error);
    }
  }

  dataEnds(): void {
    if (this.#currentFlags & flagFin) this.#current?.peerEnds();
    this.#current = undefined;
  }

  reset(streamId: number, code: number): void {
    const stream = this.#streams.get(streamId);
    if (stream) stream.close(this.#resetError(streamId, code));
    else this.#idleFrame();
  }

  windowIncrement(streamId: number, increment: number): void {
    const stream = this.#streams.get(streamId);
    if (!stream || increment === 0 || stream.sendCredit > this.windows.maxWindow) this.#idleFrame();
    if (stream && !stream.credit(increment)) {
      throw new ProtocolViolation(errorCode.flowControl, `stream ${streamId}: more credit than a window can be`);
    }
  }

  goAway(lastStreamId: number, code: number, text: string): void {
    this.#finish(new Goodbye(code, text), this.reportsUnused ? lastStreamId : maxWindow);
  }

  unknownFrame(length: number): void {
    this.#idleFrame(1 + (length >>> 10));
  }

  #resetError(streamId: number, code: number): Error {
    if (code === errorCode.sessionEnded) return new LostStream("the agent's session has ended");
    const isRefused = code === errorCode.streamRefused || code === errorCode.acceptQueueFull;
    if (!isRefused || !this.reportsUnused || !this.#isOurs(streamId))
      return new Error(`peer reset the stream (code ${code})`);
    const reason = code === errorCode.streamRefused ? "tunnel_gone" : "tunnel_busy";
    return new UnusedStream(reason, `the agent refused the stream (code ${code})`);
  }

  #accept(streamId: number): MuxStream | undefined {
    if (this.#over) return undefined;
    if (this.#isOurs(streamId)) {
      throw new ProtocolViolation(errorCode.protocol, `stream ${streamId}: opened by the wrong side`);
    }
    this.#lastIncomingId = Math.max(this.#lastIncomingId, streamId);
    if (this.#incomingCount >= this.maxIncoming) {
      this.#idleFrame(16);
      this.outbox.control(frameType.reset, streamId, errorCode.acceptQueueFull);
      this.schedule();
      return undefined;
    }
    const stream = new MuxStream(this, streamId, false);
    this.#streams.set(streamId, stream);
    this.#incomingCount += 1;
    try {
      this.#handler.incoming(stream);
    } catch (error) {
      stream.broke(error);
    }
    return stream;
  }

  /**
   * Frames in transit for a stream that we ended are ignored, because the peer has our RST. Frames for a stream that
   * never existed get a response, at a limited rate (§2.2).
   */
  #dataForGoneStream(streamId: number, flags: number, length: number, known: boolean): void {
    if (length < 1024) this.#idleFrame();
    if (known || (flags & flagSyn) !== 0 || length === 0) return;
    const wasOpen = this.#isOurs(streamId) ? streamId < this.#nextId : streamId <= this.#lastIncomingId;
    if (wasOpen) return;
    this.#idleFrame(16);
    this.outbox.control(frameType.reset, streamId, errorCode.streamClosed);
    this.schedule();
  }

  #isOurs(streamId: number): boolean {
    return (streamId & 1) === (this.#nextId & 1);
  }

  #idleFrame(cost = 1): void {
    if (!this.#idleFrames.take(cost)) {
      throw new ProtocolViolation(errorCode.enhanceYourCalm, "too many frames without effect");
    }
  }

  #heardFrom(chunk: Buffer): void {
    if (this.#over) return;
    this.bytesReceived += chunk.length;
    this.heardAt = this.#clock.monotonic();
    try {
      this.#reader.read(chunk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.answersAtOnce) {
      this.#heard = true;
      this.schedule();
    }
  }

  turn(): void {
    this.#scheduled = false;
    if (this.#over) return;
    try {
      this.#takeTurns();
    } catch (error) {
      this.#fail(error);
      return;
    }
    const outbox = this.outbox;
    const wrote = outbox.send();
    if (outbox.flooded) {
      this.#finish(new ProtocolViolation(errorCode.enhanceYourCalm, "peer does not read the data that it requested"));
      return;
    }
    if (this.#ready.length > 0 && !outbox.jammed) this.schedule();
    if (this.answersAtOnce) this.#answerAtOnce(wrote);
  }

  #takeTurns(): void {
    let left = maxPerTurn;
    while (this.#served < this.#ready.length && left > 0 && !this.outbox.jammed) {
      const stream = this.#ready[this.#served] as MuxStream;
      this.#served += 1;
      stream.isReady = false;
      left -= stream.sendFrame();
    }
    if (this.#served === this.#ready.length) this.#ready.length = 0;
    else if (this.#served > 1024) this.#ready.splice(0, this.#served);
    else return;
    this.#served = 0;
  }

  /** A1: a peer with Nagle's algorithm waits for our ACK, and the kernel's delayed ACK costs it 40 ms. */
  #answerAtOnce(wrote: boolean): void {
    if (wrote || this.#socket.writableLength > 0) {
      this.#heard = false;
      this.#unanswered = false;
    } else if (this.#heard) {
      this.#heard = false;
      this.#unanswered = true;
      this.schedule();
    } else if (this.#unanswered) {
      this.#unanswered = false;
      this.outbox.control(frameType.windowIncrement, unusedStreamId, 1);
      this.outbox.send();
    }
  }

  #socketTook(): void {
    if (!this.#over && this.#ready.length > 0 && !this.outbox.jammed) this.schedule();
  }

  #fail(error: unknown): void {
    const isViolation = error instanceof ProtocolViolation;
    if (!isViolation) this.#handler.bug(error);
    runContained("session", () => {
      if (isViolation) this.#sayGoodbye(error.code, error.message);
      else this.#sayGoodbye(errorCode.internal, "internal error");
    });
    this.#finish(error instanceof Error ? error : new Error(String(error)));
  }

  #sayGoodbye(code: number, text: string): void {
    this.outbox.goAway(this.#lastIncomingId, code, Buffer.from(text.slice(0, 200)));
    this.outbox.send();
  }

  /** @param lastUsedId highest id of our streams that the peer may have processed */
  #finish(error: Error | undefined, lastUsedId: number = maxWindow): void {
    if (this.#over) return;
    this.#over = true;
    this.#reader.stop();
    if (!runContained("session", () => this.#hangUp())) this.#socket.destroy();
    this.#ready = [];
    const cause = new LostStream(error?.message ?? "session closed");
    const unused = new UnusedStream("tunnel_gone", "the agent's session ended before the agent began the request");
    const streams = [...this.#streams.values()];
    for (const stream of streams) {
      try {
        stream.close(stream.isUnsent || (this.#isOurs(stream.id) && stream.id > lastUsedId) ? unused : cause);
      } catch (bug) {
        this.#handler.bug(bug);
      }
    }
    this.#handler.closed(error);
  }

  /** Gives the socket a limited time to write its remaining data. */
  #hangUp(): void {
    if (this.#socket.destroyed) return;
    const timer = this.#clock.after(goodbyeMs, () => this.#socket.destroy());
    this.#socket.once("close", () => timer.cancel());
    this.#socket.destroySoon();
  }
}

function notifyClosed(stream: MuxStream, error: Error | undefined): void {
  try {
    stream.receiver.closed(error);
  } catch (bug) {
    endUnit("stream", stream.receiver, bug);
  }
}
