/**
 * One request and its response as recorded bytes, parsed only on demand. Recordings are reused, because objects that
 * live as long as 500 requests raise an agent's garbage collection cost by half.
 */
import type { Clock } from "../lib/clock.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";

/** Maximum size of a recording, bytes. Longer exchanges are parsed live. */
export const maxRecordedBytes = 16_384;
const firstBytes = 2_048;
const none = Buffer.alloc(0);

/** The connection that can parse a recording. */
export interface RecordingSource {
  /** Sets its `exchange`. */
  read(recording: Recording): void;
}

/** How the connection ended during the recording. */
export type RecordedEnd = "open" | "ended" | "cut";

export class Recording implements Pick<Clock, "now" | "monotonic"> {
  /** Number of the exchange; 0 if there is none. */
  number = 0;
  /** Set after parsing. */
  exchange: InspectedExchange | undefined;
  source: RecordingSource | undefined;
  end: RecordedEnd = "open";
  /** Bytes held and counted for it. */
  heldBytes = 0;
  #bytes = none;
  #length = 0;
  /** Number of those bytes that belong to the request. */
  #askedLength = 0;
  /**
   * Start (wall clock, monotonic), first and last byte of the response (monotonic), and when the service accepted the
   * connection (monotonic, or 0).
   */
  readonly #times = new Float64Array(5);

  /** Bytes that fit without additional memory. */
  get capacity(): number {
    return this.#bytes.length;
  }

  get asked(): Buffer {
    return this.#bytes.subarray(0, this.#askedLength);
  }

  get answered(): Buffer {
    return this.#bytes.subarray(this.#askedLength, this.#length);
  }

  /** From the start to the last byte of the response, milliseconds. */
  get durationMs(): number {
    return (this.#times[3] as number) - (this.#times[1] as number);
  }

  /** See `Exchange.connectedMs`. */
  get connectedMs(): number | undefined {
    const at = this.#times[4] as number;
    return at === 0 ? undefined : at - (this.#times[1] as number);
  }

  /** Wall clock of the recording: its start. */
  now(): number {
    return this.#times[0] as number;
  }

  /** Monotonic clock of the recording: its start, or the start of the response once there is one. */
  monotonic(): number {
    return this.#times[this.exchange ? 2 : 1] as number;
  }

  /**
   * @param now wall clock
   * @param time monotonic
   */
  begin(number: number, source: RecordingSource | undefined, now: number, time: number): void {
    this.number = number;
    this.source = source;
    this.exchange = undefined;
    this.end = "open";
    this.#length = 0;
    this.#askedLength = 0;
    this.#times[0] = now;
    this.#times[1] = time;
    this.#times[2] = time;
    this.#times[3] = time;
    this.#times[4] = 0;
  }

  /** The service accepted the connection at `time`. */
  connected(time: number): void {
    this.#times[4] = time;
  }

  /** The exchange has ended. */
  leave(end: RecordedEnd, clock: Clock): void {
    this.end = end;
    if (this.#length === this.#askedLength) this.#times.fill(clock.monotonic(), 2, 4);
  }

  /** Releases the memory. */
  drop(): void {
    this.number = 0;
    this.source = undefined;
    this.exchange = undefined;
    this.#bytes = none;
    this.#length = 0;
    this.heldBytes = 0;
  }

  /** Whether this many more bytes fit within the bound. */
  hasRoom(byteCount: number): boolean {
    return this.#length + byteCount <= maxRecordedBytes;
  }

  /** Adds bytes of the request. Returns the number of additional bytes held in memory. */
  ask(bytes: Buffer): number {
    const held = this.#add(bytes);
    this.#askedLength = this.#length;
    return held;
  }

  /** Adds bytes of the response at `time`. Returns the number of additional bytes held in memory. */
  answer(bytes: Buffer, time: number): number {
    if (this.#length === this.#askedLength) this.#times[2] = time;
    this.#times[3] = time;
    return this.#add(bytes);
  }

  #add(bytes: Buffer): number {
    const needed = this.#length + bytes.length;
    const before = this.#bytes.length;
    if (needed > before) {
      let size = Math.max(firstBytes, before);
      while (size < needed) size *= 2;
      const grown = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = needed;
    return this.#bytes.length - before;
  }
}
