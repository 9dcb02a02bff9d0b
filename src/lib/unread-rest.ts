/** Bytes of one message. */
const maxBytes = 64 * 1024 * 1024;
/** From the answer on, in all. */
const maxMs = 30_000;
/** Since the client sent something last. */
const maxSilenceMs = 5_000;

/**
 * The rest of a request that was answered before its end. It is read and dropped, within bounds: a client that is cut off
 * while it still sends may lose the answer (RFC 9112 §9.6).
 */
export class UnreadRest {
  /** When the client has been silent, or has gone on, for too long; on the clock of the times given. */
  expiresAt: number;
  readonly #lastAt: number;
  #left = maxBytes;

  constructor(now: number) {
    this.#lastAt = now + maxMs;
    this.expiresAt = now + maxSilenceMs;
  }

  /** Counts what was dropped. False when it is too much. */
  drop(byteCount: number, now: number): boolean {
    this.#left -= byteCount;
    this.expiresAt = Math.min(now + maxSilenceMs, this.#lastAt);
    return this.#left >= 0;
  }
}
