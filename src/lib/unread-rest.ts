/** Maximum bytes of one message. */
const maxBytes = 64 * 1024 * 1024;
/** Maximum total time after the response. */
const maxMs = 30_000;
/** Maximum time without data from the client. */
const maxSilenceMs = 5_000;

/**
 * The rest of a request that got a response before its end. It is read and dropped, within limits: a client that is cut
 * off while it still sends may lose the response (RFC 9112 §9.6).
 */
export class UnreadRest {
  /** Time at which the client has been silent, or has sent data, for too long, on the clock of the given times. */
  expiresAt: number;
  readonly #lastAt: number;
  #left = maxBytes;

  constructor(now: number) {
    this.#lastAt = now + maxMs;
    this.expiresAt = now + maxSilenceMs;
  }

  /** Counts dropped bytes. Returns false if there are too many. */
  drop(byteCount: number, now: number): boolean {
    this.#left -= byteCount;
    this.expiresAt = Math.min(now + maxSilenceMs, this.#lastAt);
    return this.#left >= 0;
  }
}
