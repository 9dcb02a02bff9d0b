/**
 * One request and its answer as bytes that passed: nothing of them is read until somebody looks. Recordings are used again
 * and again, so that what is kept for a while leaves nothing to collect: objects that live as long as 500 requests cost an
 * agent half as much again as its requests.
 */
import type { Clock } from "../lib/clock.ts";
import type { Exchange } from "./exchange.ts";

/** Most bytes of one; longer exchanges are read as they pass. */
export const maxRecordedBytes = 16_384;
const firstBytes = 2_048;
const none = Buffer.alloc(0);

/** Who can read a recording: the connection that it is of. */
export interface RecordingSource {
  /** Sets its `exchange`. */
  read(recording: Recording): void;
}

/** How the connection ended in it. */
export type RecordedEnd = "open" | "ended" | "cut";

export class Recording implements Pick<Clock, "now" | "monotonic"> {
  /** Of the exchange; 0: there is none. */
  number = 0;
  /** Once it has been read. */
  exchange: Exchange | undefined;
  source: RecordingSource | undefined;
  end: RecordedEnd = "open";
  /** Bytes that are held for it, and counted. */
  heldBytes = 0;
  #bytes = none;
  #length = 0;
  /** Of those, bytes of the request. */
  #askedLength = 0;
  /**
   * Wall clock and monotonic when it began; monotonic at the first and the last byte of the answer; monotonic when the
   * service had taken the connection, or 0.
   */
  readonly #times = new Float64Array(5);

  /** Bytes that it could take without holding more. */
  get capacity(): number {
    return this.#bytes.length;
  }

  get asked(): Buffer {
    return this.#bytes.subarray(0, this.#askedLength);
  }

  get answered(): Buffer {
    return this.#bytes.subarray(this.#askedLength, this.#length);
  }

  /** From its beginning to the last byte of its answer, milliseconds. */
  get durationMs(): number {
    return (this.#times[3] as number) - (this.#times[1] as number);
  }

  /** See `Exchange.connectedMs`. */
  get connectedMs(): number | undefined {
    const at = this.#times[4] as number;
    return at === 0 ? undefined : at - (this.#times[1] as number);
  }

  /** As the recording's own clock: when it began. */
  now(): number {
    return this.#times[0] as number;
  }

  /** As the recording's own clock: when it began, or, once there is an answer, when that began. */
  monotonic(): number {
    return this.#times[this.exchange ? 2 : 1] as number;
  }

  /** @param now wall clock @param time monotonic */
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

  /** The service has taken the connection, at `time`. */
  connected(time: number): void {
    this.#times[4] = time;
  }

  /** Nothing more comes. */
  leave(end: RecordedEnd, clock: Clock): void {
    this.end = end;
    if (this.#length === this.#askedLength) this.#times.fill(clock.monotonic(), 2, 4);
  }

  /** Holds nothing any more. */
  drop(): void {
    this.number = 0;
    this.source = undefined;
    this.exchange = undefined;
    this.#bytes = none;
    this.#length = 0;
    this.heldBytes = 0;
  }

  /** Whether that many more bytes fit within the bound. */
  hasRoom(byteCount: number): boolean {
    return this.#length + byteCount <= maxRecordedBytes;
  }

  /** Bytes of the request. Returns by how many bytes more memory is held. */
  ask(bytes: Buffer): number {
    const held = this.#add(bytes);
    this.#askedLength = this.#length;
    return held;
  }

  /** Bytes of the answer, at `time`. Returns by how many bytes more memory is held. */
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
