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
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { maxCopied } from "./outbox.ts";
import type { Outbox } from "./outbox.ts";

/** Queued beyond this, bytes, `write` answers false, until less than `drainedAt` is queued. */
const highWater = 128 * 1024;
const drainedAt = 32 * 1024;

/** What a stream needs of its multiplexer. */
export interface StreamHost {
  readonly outbox: Outbox;
  readonly windows: WindowBudget;
  /** The peer wakes its reader for an end only, and its writer for credit only: a reset is not enough (A4). */
  readonly sleepsThroughResets: boolean;
  /** The stream has something to send and credit for it. */
  ready(stream: MuxStream): void;
  /** The outbox is not empty. */
  schedule(): void;
  /** Calls the receiver's `closed` after the current call, which is the receiver's own. */
  tellClosed(stream: MuxStream, error: Error | undefined): void;
  /** Both directions are over. */
  forget(stream: MuxStream): void;
}

/** Whoever counts streams is told when the peer took one up, when one is over, and when the peer has let go of it. */
export interface StreamWatcher {
  /** Credit beyond the stream's `acceptedAfter`, data or an end came from the peer. */
  accepted(stream: MuxStream): void;
  /** We are done with it. */
  released(stream: MuxStream): void;
  /** The peer is done with it as well, or will be `afterMs` from now as far as can be known. */
  forgotten(stream: MuxStream, afterMs: number): void;
}

/**
 * Agents that sleep through resets drop a stream that both sides have ended as soon as its tasks have run. One that
 * was reset they drop when its service next writes or ends, and never say so (A3, A4): until
 * then it counts among the streams that they can have.
 */
const droppedAfterEndMs = 50;
const droppedAfterResetMs = 1000;

/** What the service still writes into an aborted stream is let through for this long, or to this much: then it is reset. */
const lingerMs = 2000;
const lingerBytes = initialWindow / 2;

/** Shared, because making an error costs more than ending a stream. */
const abortedError = new Error("stream aborted");

export const discard: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };

export class MuxStream implements ByteStream {
  receiver: ByteReceiver = discard;
  readonly id: number;
  watcher: StreamWatcher | undefined;
  /** While above 0: so many bytes of credit must come back before the peer counts as having taken up the stream. */
  acceptedAfter = 0;
  /** In the multiplexer's queue of streams that have something to send. */
  isReady = false;
  readonly #host: StreamHost;
  readonly #window: ReceiveWindow;
  #sendCredit = initialWindow;
  /** Most streams never wait: made for those that do. */
  #queue: GatheredBytes | undefined;
  #synFlag: number;
  #wantsDrain = false;
  #finWanted = false;
  #finSent = false;
  #peerEnded = false;
  #over = false;
  /** When it was aborted, while the peer has not ended its side; 0: it is not waited for. */
  #lingersSince = 0;

  /** @param opened by us: the first frame carries SYN */
  constructor(host: StreamHost, id: number, opened: boolean) {
    this.#host = host;
    this.id = id;
    this.#synFlag = opened ? flagSyn : 0;
    this.#window = new ReceiveWindow(host.windows);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Bytes that the peer is ready to take now. */
  get sendCredit(): number {
    return this.#sendCredit;
  }

  /** Bytes taken and not yet sent. */
  get queued(): number {
    return this.#queue?.length ?? 0;
  }

  /** The peer ended its direction. */
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
   * RST; for an agent that sleeps through it, an end, whose answer says when the agent has dropped the stream. What it
   * has sent in the meantime goes nowhere. A stream that the peer has not heard of goes without a word.
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

  consumed(byteCount: number): void {
    if (this.#peerEnded || this.#over) return;
    const increment = this.#window.consumed(byteCount);
    if (increment === 0) return;
    this.#host.outbox.control(frameType.windowIncrement, this.id, increment);
    this.#host.schedule();
  }

  /** Puts at most one frame into the outbox. Returns its payload length. */
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

  /** The peer gave credit. False when it is more than the field can hold. */
  credit(increment: number): boolean {
    if (this.acceptedAfter > 0 && (this.acceptedAfter -= increment) <= 0) this.#accepted();
    this.#sendCredit += increment;
    if (this.#sendCredit > maxWindow) return false;
    if (this.queued > 0 && !this.isReady) this.#host.ready(this);
    return true;
  }

  /** The peer announced `length` bytes. False when it had no credit for them. */
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

  /** Ends the stream for us, without a word to the peer. */
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

  /** The receiver threw: this stream ends, and the session goes on. What breaks the protocol ends the session. */
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

  /** For us it is over. */
  #leave(): void {
    this.#over = true;
    this.#queue = undefined;
    this.watcher?.released(this);
  }

  /** For the peer it will be over. */
  #forget(afterMs: number): void {
    this.#lingersSince = 0;
    this.#window.close();
    this.#host.forget(this);
    this.watcher?.forgotten(this, afterMs);
  }

  #linger(): void {
    this.#lingersSince = this.#host.windows.clock.monotonic() || 1;
    this.#leave();
    // Nothing more can come of a peer that waits for credit.
    if (this.#window.credit < lingerBytes) this.#enoughOfIt();
  }

  /** Resets an aborted stream that the service goes on writing into: its next write ends it at the agent. */
  #enoughOfIt(): void {
    const lingeredMs = this.#host.windows.clock.monotonic() - this.#lingersSince;
    if (lingeredMs < lingerMs && this.#window.credit >= lingerBytes) return;
    this.#wakeAndReset();
    // A service that wrote after so long may take as long again.
    this.#forget(Math.max(droppedAfterResetMs, 1.5 * lingeredMs));
  }

  /** Writers that wait for credit see a reset only when they are given some (A4). */
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
