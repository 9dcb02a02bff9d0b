/** Two byte streams, each handed what the other brings. */
import { reportFailure } from "../boundary.ts";
import type { ByteReceiver, ByteStream } from "./byte-stream.ts";

/**
 * Once one side has sent its last, how long the other may be silent before both are cut, milliseconds: of spliced
 * connections and of upgraded exchanges, wherever time is kept of them.
 */
export const spliceLingerMs = 60_000;

/** Who is told of what passes; absent parts cost nothing. */
export interface SpliceWatch {
  /** Bytes from the first stream, before the second gets them. */
  forth?(bytes: Buffer): void;
  /** Bytes from the second stream. */
  back?(bytes: Buffer): void;
  /** One stream will bring no more; the other direction goes on. */
  ended?(): void;
  /** One stream is over; the other may still have bytes to send out, and ends by itself. Called twice. */
  closed?(error: Error | undefined): void;
}

/**
 * Joins two streams until both are over: bytes are taken from one only as fast as the other takes them on, an end is
 * passed on as an end while the other direction goes on, and what cuts one short cuts the other short.
 */
export function splice(first: ByteStream, second: ByteStream, watch: SpliceWatch = {}): void {
  const forth = new Half(first, second, watch.forth?.bind(watch), watch);
  const back = new Half(second, first, watch.back?.bind(watch), watch);
  forth.other = back;
  back.other = forth;
  first.receiver = forth;
  second.receiver = back;
}

/** What comes from one of the streams. */
class Half implements ByteReceiver {
  other!: Half;
  readonly #from: ByteStream;
  readonly #to: ByteStream;
  readonly #taken: ((bytes: Buffer) => void) | undefined;
  readonly #watch: SpliceWatch;
  /** Bytes taken from here that the other side has no room for yet: their credit is given when it has. */
  #owed = 0;
  #hasEnded = false;

  constructor(from: ByteStream, to: ByteStream, taken: ((bytes: Buffer) => void) | undefined, watch: SpliceWatch) {
    this.#from = from;
    this.#to = to;
    this.#taken = taken;
    this.#watch = watch;
  }

  data(bytes: Buffer): void {
    this.#taken?.(bytes);
    if (this.#to.write(bytes)) this.#from.consumed(bytes.length);
    else this.#owed += bytes.length;
  }

  ended(): void {
    this.#hasEnded = true;
    this.#to.end();
    this.#watch.ended?.();
  }

  drained(): void {
    this.other.#settle();
  }

  closed(error: Error | undefined): void {
    if (error || !this.#hasEnded || !this.other.#hasEnded) this.#to.abort();
    this.#watch.closed?.(error);
  }

  broke(error: unknown): void {
    reportFailure("connection", error);
    this.#from.abort();
    this.#to.abort();
  }

  #settle(): void {
    const owed = this.#owed;
    this.#owed = 0;
    if (owed > 0) this.#from.consumed(owed);
  }
}
