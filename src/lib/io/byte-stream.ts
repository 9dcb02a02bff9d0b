import type { Unit } from "../boundary.ts";
import type { LostStream } from "./lost-stream.ts";

/**
 * A duplex flow of bytes with backpressure in both directions, without the cost of a `Duplex`: one receiver object,
 * plain calls. Tunnel streams and sockets both implement it.
 */
export interface ByteStream {
  /** Receiver of the incoming data; replaced when a pooled stream changes owners. */
  receiver: ByteReceiver;
  /** Takes the bytes by reference. False means "wait for `drained`" (the bytes are accepted anyway). */
  write(bytes: Uint8Array): boolean;
  /** Same as `write`, for a string of code points up to U+00FF. */
  writeLatin1(text: string): boolean;
  /** Ends writing. The other direction continues. */
  end(): void;
  /** Ends both directions immediately, and discards pending bytes. Does nothing if already closed. */
  abort(): void;
  /** Like `abort`, and tells the other end what was lost. Absent if the stream cannot. */
  lose?(error: LostStream): void;
  /**
   * Returns credit for bytes passed to `receiver.data`. Call this when they were processed, not when they arrived. A
   * sender is never granted more than its window ahead of this.
   */
  consumed(byteCount: number): void;
}

export interface ByteReceiver extends Unit {
  /** Called with incoming bytes. They stay valid after the call, and must not be changed. */
  data(bytes: Buffer): void;
  /** The peer sends no more data. */
  ended(): void;
  /** There is room to write again after a `false`. */
  drained(): void;
  /** The other end has been silent for some seconds. The stream stays open and may continue. */
  stalled?(): void;
  /** Both directions have ended; called exactly once. `error` is set if they were aborted. */
  closed(error: Error | undefined): void;
}

/** Discards everything, for a stream whose data has no recipient. */
export const discardingReceiver: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };
