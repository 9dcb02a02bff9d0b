import type { Unit } from "../boundary.ts";

/**
 * A duplex flow of bytes with backpressure in both directions, without the cost of a `Duplex`:
 * one receiver object, plain calls. Tunnel streams and sockets both offer it.
 */
export interface ByteStream {
  /** Who is told of what arrives; replaced when a pooled stream changes hands. */
  receiver: ByteReceiver;
  /** Takes the bytes by reference; false means "hold on until `drained`" (they are taken all the same). */
  write(bytes: Uint8Array): boolean;
  /** As `write`, for a string of code points up to U+00FF. */
  writeLatin1(text: string): boolean;
  /** No more will be written; the other direction goes on. */
  end(): void;
  /** Ends both directions at once, discarding what is under way. Harmless when already closed. */
  abort(): void;
  /**
   * Gives back credit for bytes handed to `receiver.data`: call it when they were taken on, not when they
   * came. A sender is never granted more than its window ahead of this.
   */
  consumed(byteCount: number): void;
}

export interface ByteReceiver extends Unit {
  /** Bytes that arrived; valid beyond the call, not to be changed. */
  data(bytes: Buffer): void;
  /** The peer will send no more. */
  ended(): void;
  /** Room to write again after a `false`. */
  drained(): void;
  /** Both directions are over; called exactly once. `error` when they were cut short. */
  closed(error: Error | undefined): void;
}
