/** Joins two byte streams, so that each receives the other's data. */
import { reportFailure } from "../boundary.ts";
import type { ByteReceiver, ByteStream } from "./byte-stream.ts";
import { LostStream } from "./lost-stream.ts";

/**
 * After one side has ended, the maximum time without data from the other one, milliseconds. Then both are aborted.
 * Applies to spliced connections and upgraded exchanges.
 */
export const spliceLingerMs = 60_000;

/** Callbacks for the observed traffic. Absent callbacks cost nothing. */
export interface SpliceWatch {
  /** Called with bytes from the first stream, before the second gets them. */
  forth?(bytes: Buffer): void;
  /** Called with bytes from the second stream. */
  back?(bytes: Buffer): void;
  /** One stream has ended; the other direction continues. */
  ended?(): void;
  /** One stream has closed. The other one may still send remaining bytes, and then ends. Called twice. */
  closed?(error: Error | undefined): void;
}

/**
 * Joins two streams until both have closed. Bytes are read from one only as fast as the other accepts them. An end is
 * passed on while the other direction continues. An abort of one stream aborts the other.
 */
export function spliceStreams(first: ByteStream, second: ByteStream, watch: SpliceWatch = {}): void {
  const forth = new Half(first, second, watch.forth?.bind(watch), watch);
  const back = new Half(second, first, watch.back?.bind(watch), watch);
  forth.other = back;
  back.other = forth;
  first.receiver = forth;
  second.receiver = back;
}

/** Receives the data of one of the streams. */
class Half implements ByteReceiver {
  other!: Half;
  readonly #from: ByteStream;
  readonly #to: ByteStream;
  readonly #taken: ((bytes: Buffer) => void) | undefined;
  readonly #watch: SpliceWatch;
  /** Bytes from this side that the other side has no room for yet. Their credit is returned when it has. */
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
    if (error instanceof LostStream && this.#to.lose) this.#to.lose(error);
    else if (error || !this.#hasEnded || !this.other.#hasEnded) this.#to.abort();
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
