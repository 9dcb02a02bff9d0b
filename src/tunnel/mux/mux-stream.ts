/** One stream of the multiplexer, as a `ByteStream`. */
import { endUnit } from "../../lib/boundary.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import { ReceiveWindow } from "../../lib/io/receive-window.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import {
  errorCode,
  flagFin,
  flagSyn,
  frameType,
  initialWindow,
  maxPayload,
  maxWindow,
  ProtocolViolation,
} from "./frame.ts";
import { UnusedStream } from "../../lib/io/lost-stream.ts";
import type { LostStream } from "../../lib/io/lost-stream.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { maxCopied } from "./outbox.ts";
import type { Outbox } from "./outbox.ts";

/** Queued bytes above which `write` returns false, until less than `drainedAt` is queued. */
const highWater = 128 * 1024;
const drainedAt = 32 * 1024;

/** Interface of the multiplexer for its streams. */
export interface StreamHost {
  readonly outbox: Outbox;
  readonly windows: WindowBudget;
  /**
   * Whether the peer wakes its reader only for an end, and its writer only for credit. A reset does not wake them (A4).
   */
  readonly sleepsThroughResets: boolean;
  /** Whether both ends report which streams they have not processed. */
  readonly reportsUnused: boolean;
  /** The stream has data to send and credit for it. */
  ready(stream: MuxStream): void;
  /** The outbox is not empty. */
  schedule(): void;
  /** Calls the receiver's `closed` after the receiver's current call. */
  tellClosed(stream: MuxStream, error: Error | undefined): void;
  /** Both directions have ended. */
  forget(stream: MuxStream): void;
}

/** Notified when the peer accepts a stream, when the stream ends here, and when the peer drops it. */
export interface StreamWatcher {
  /** Credit beyond the stream's `acceptedAfter`, data or an end arrived from the peer. */
  accepted(stream: MuxStream): void;
  /** The stream has ended here. */
  released(stream: MuxStream): void;
  /** The peer has dropped the stream as well, or probably will within `afterMs`. */
  forgotten(stream: MuxStream, afterMs: number): void;
}

/**
 * Time in which agents that sleep through resets drop a stream ended by both sides, milliseconds. They drop a reset
 * stream only when its service next writes or ends, without a message (A3, A4). Until then, it counts towards their
 * limit of streams.
 */
const droppedAfterEndMs = 50;
const droppedAfterResetMs = 1000;

/** Time and number of bytes for which an aborted stream accepts data of the service. Then it is reset. */
const lingerMs = 2000;
const lingerBytes = initialWindow / 2;

/** Shared because creating an error costs more than ending a stream. */
const abortedError = new Error("stream aborted");

export const discard: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };

export class MuxStream implements ByteStream {
  receiver: ByteReceiver = discard;
  readonly id: number;
  watcher: StreamWatcher | undefined;
  /** While above 0: bytes of credit that must arrive before the stream counts as accepted by the peer. */
  acceptedAfter = 0;
  /** Whether the stream is in the multiplexer's queue of streams with data. */
  isReady = false;
  readonly #host: StreamHost;
  readonly #window: ReceiveWindow;
  #sendCredit = initialWindow;
  /** Created on demand, because most streams never wait. */
  #queue: GatheredBytes | undefined;
  #synFlag: number;
  #wantsDrain = false;
  #finWanted = false;
  #finSent = false;
  #peerEnded = false;
  #over = false;
  /** Time of the abort while the peer has not ended its side; 0 if not waiting. */
  #lingersSince = 0;

  /** @param opened whether this side opened it: the first frame carries SYN */
  constructor(host: StreamHost, id: number, opened: boolean) {
    this.#host = host;
    this.id = id;
    this.#synFlag = opened ? flagSyn : 0;
    this.#window = new ReceiveWindow(host.windows);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Number of bytes that the peer accepts now. */
  get sendCredit(): number {
    return this.#sendCredit;
  }

  /** Number of bytes that were written and not yet sent. */
  get queued(): number {
    return this.#queue?.length ?? 0;
  }

  /** Whether no frame of the stream has been sent. */
  get isUnsent(): boolean {
    return this.#synFlag !== 0;
  }

  /** Whether the peer has ended its direction. */
  get peerEnded(): boolean {
    return this.#peerEnded;
  }

  write(bytes: Uint8Array): boolean {
    const length = bytes.length;
    if (this.#finWanted || this.#over) return false;
    if (length === 0) return true;
    if (this.queued === 0 && length <= maxCopied && length <= this.#sendCredit && !this.#host.outbox.jammed) {
      this.#sendCredit -= length;
      this.#host.outbox.small(this.id, this.#takeSyn(), bytes);
      this.#host.schedule();
      return true;
    }
    return this.#enqueue(bytes);
  }

  writeLatin1(text: string): boolean {
    const length = text.length;
    if (this.#finWanted || this.#over) return false;
    if (length === 0) return true;
    if (this.queued === 0 && length <= maxCopied && length <= this.#sendCredit && !this.#host.outbox.jammed) {
      this.#sendCredit -= length;
      this.#host.outbox.smallLatin1(this.id, this.#takeSyn(), text);
      this.#host.schedule();
      return true;
    }
    return this.#enqueue(Buffer.from(text, "latin1"));
  }

  end(): void {
    if (this.#finWanted || this.#over) return;
    this.#finWanted = true;
    if (this.queued > 0) return;
    this.#host.outbox.fin(this.id, this.#takeSyn());
    this.#finSent = true;
    this.#host.schedule();
    if (!this.#peerEnded) return;
    this.#drop(droppedAfterEndMs);
    this.#host.tellClosed(this, undefined);
  }

  /**
   * Sends RST. For an agent that sleeps through it, sends an end, whose response shows when the agent has dropped the
   * stream. Data that it sent in the meantime is discarded. A stream that the peer does not know ends silently.
   */
  abort(): void {
    if (this.#over) return;
    const { outbox, sleepsThroughResets } = this.#host;
    if (this.#synFlag !== 0) {
      this.#drop(0);
    } else if (!sleepsThroughResets) {
      outbox.control(frameType.reset, this.id, errorCode.streamCancelled);
      this.#drop(0);
    } else {
      if (!this.#finSent) outbox.fin(this.id, 0);
      if (this.watcher && !this.#peerEnded) this.#linger();
      else {
        this.#wakeAndReset();
        this.#drop(droppedAfterResetMs);
      }
    }
    this.#host.schedule();
    this.#host.tellClosed(this, abortedError);
  }

  /** See `ByteStream.lose`. */
  lose(error: LostStream): void {
    if (this.#over) return;
    if (this.#synFlag !== 0 || !this.#host.reportsUnused) return this.abort();
    const code = error instanceof UnusedStream ? errorCode.streamRefused : errorCode.sessionEnded;
    this.#host.outbox.control(frameType.reset, this.id, code);
    this.#drop(0);
    this.#host.schedule();
    this.#host.tellClosed(this, abortedError);
  }

  consumed(byteCount: number): void {
    if (this.#peerEnded || this.#over) return;
    const increment = this.#window.consumed(byteCount);
    if (increment === 0) return;
    this.#host.outbox.control(frameType.windowIncrement, this.id, increment);
    this.#host.schedule();
  }

  /** Writes at most one frame to the outbox. Returns its payload length. */
  sendFrame(): number {
    const outbox = this.#host.outbox;
    const length = Math.min(this.queued, this.#sendCredit, maxPayload);
    if (length === 0) return 0;
    const queue = this.#queue as GatheredBytes;
    const ends = this.#finWanted && queue.length === length;
    this.#sendCredit -= length;
    outbox.frame(this.id, this.#takeSyn() | (ends ? flagFin : 0), length);
    for (let left = length; left > 0;) {
      const part = queue.takeFirst(left);
      outbox.payload(part);
      left -= part.length;
    }
    if (ends) this.#finSent = true;
    if (this.queued > 0 && this.#sendCredit > 0) this.#host.ready(this);
    if (ends && this.#peerEnded) this.close(undefined);
    else if (this.#wantsDrain && this.queued <= drainedAt) {
      this.#wantsDrain = false;
      this.#tell("drained");
    }
    return length;
  }

  /** The peer sent credit. Returns false if it overflows the field. */
  credit(increment: number): boolean {
    if (this.acceptedAfter > 0 && (this.acceptedAfter -= increment) <= 0) this.#accepted();
    this.#sendCredit += increment;
    if (this.#sendCredit > maxWindow) return false;
    if (this.queued > 0 && !this.isReady) this.#host.ready(this);
    return true;
  }

  /** The peer announced `length` bytes. Returns false if it had no credit for them. */
  announced(length: number): boolean {
    if (this.acceptedAfter > 0) this.#accepted();
    const isCovered = this.#window.arrive(length);
    if (isCovered && this.#lingersSince > 0 && length > 0) this.#enoughOfIt();
    return isCovered;
  }

  peerEnds(): void {
    if (this.#lingersSince > 0) {
      if (this.acceptedAfter > 0) this.#accepted();
      this.#forget(droppedAfterEndMs);
    }
    if (this.#peerEnded || this.#over) return;
    if (this.acceptedAfter > 0) this.#accepted();
    this.#peerEnded = true;
    this.#tell("ended");
    if (this.#finSent) this.close(undefined);
  }

  /** Ends the stream locally without a message to the peer. */
  close(error: Error | undefined): void {
    if (this.#lingersSince > 0) this.#forget(droppedAfterEndMs);
    if (this.#over) return;
    this.#drop(droppedAfterEndMs);
    const { receiver } = this;
    try {
      receiver.closed(error);
    } catch (thrown) {
      if (thrown instanceof ProtocolViolation) throw thrown;
      endUnit("stream", receiver, thrown);
    }
  }

  /** If the receiver threw, this stream ends and the session continues. A protocol violation ends the session. */
  broke(error: unknown): void {
    if (error instanceof ProtocolViolation) throw error;
    endUnit("stream", this.receiver, error);
    this.abort();
  }

  #tell(event: "ended" | "drained"): void {
    try {
      this.receiver[event]();
    } catch (error) {
      this.broke(error);
    }
  }

  #drop(forgottenAfterMs: number): void {
    this.#leave();
    this.#forget(forgottenAfterMs);
  }

  /** The stream has ended locally. */
  #leave(): void {
    this.#over = true;
    this.#queue = undefined;
    this.watcher?.released(this);
  }

  /** The stream will end at the peer. */
  #forget(afterMs: number): void {
    this.#lingersSince = 0;
    this.#window.close();
    this.#host.forget(this);
    this.watcher?.forgotten(this, afterMs);
  }

  #linger(): void {
    this.#lingersSince = this.#host.windows.clock.monotonic() || 1;
    this.#leave();
    // A peer without credit cannot send anything more.
    if (this.#window.credit < lingerBytes) this.#enoughOfIt();
  }

  /**
   * Resets an aborted stream into which the service continues to write. The service's next write ends it at the agent.
   */
  #enoughOfIt(): void {
    const lingeredMs = this.#host.windows.clock.monotonic() - this.#lingersSince;
    if (lingeredMs < lingerMs && this.#window.credit >= lingerBytes) return;
    this.#wakeAndReset();
    // A service that wrote after this time may take as long again.
    this.#forget(Math.max(droppedAfterResetMs, 1.5 * lingeredMs));
  }

  /** Writers that wait for credit notice a reset only when they get credit (A4). */
  #wakeAndReset(): void {
    const { outbox } = this.#host;
    outbox.control(frameType.reset, this.id, errorCode.streamCancelled);
    outbox.control(frameType.windowIncrement, this.id, 1);
    this.#host.schedule();
  }

  #accepted(): void {
    this.acceptedAfter = 0;
    this.watcher?.accepted(this);
  }

  #takeSyn(): number {
    const flag = this.#synFlag;
    this.#synFlag = 0;
    return flag;
  }

  #enqueue(bytes: Uint8Array): boolean {
    const queue = (this.#queue ??= new GatheredBytes());
    queue.add(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (!this.isReady && this.#sendCredit > 0) this.#host.ready(this);
    if (queue.length <= highWater) return true;
    this.#wantsDrain = true;
    return false;
  }
}
