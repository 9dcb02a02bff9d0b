/**
 * The credit that the receiving side of a stream gives: of a tunnel (agent-protocol §8), or of HTTP/2 (RFC 9113 §5.2). It
 * starts at the first size that the peer knows, and where it may it grows with use: a window that was used up within two
 * round trips is what limits the flow, and is doubled.
 */
import type { Clock } from "../clock.ts";

/** Up to this a window grows as if the round trip were `assumedRoundTripMs`: also without distance a turn takes time. */
const cheapWindow = 1024 * 1024;
const assumedRoundTripMs = 10;

/** So many bytes, together, by which windows may exceed their first sizes. */
export class WindowReserve {
  left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }
}

/** What all streams of a connection share: how far windows may grow, and how much more than the first they have. */
export class WindowBudget {
  readonly clock: Clock;
  /** First size of each window, bytes. */
  readonly initial: number;
  /** Shortest round trip seen, milliseconds; 0 while unknown. */
  roundTripMs = 0;
  /** Largest window of one stream, bytes. */
  maxWindow: number;
  /** By how much the windows of the connection exceed their first sizes now, bytes. */
  grown = 0;
  #reserve: WindowReserve | undefined;

  constructor(clock: Clock, initial: number) {
    this.clock = clock;
    this.initial = initial;
    this.maxWindow = initial;
  }

  /** Allows windows up to `maxWindow`, as long as `reserve` has what they exceed the first windows by. */
  allow(maxWindow: number, reserve: WindowReserve): void {
    this.maxWindow = maxWindow;
    this.#reserve = reserve;
  }

  take(bytes: number): boolean {
    if (this.#reserve === undefined || bytes > this.#reserve.left) return false;
    this.#reserve.left -= bytes;
    this.grown += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    if (this.#reserve !== undefined) this.#reserve.left += bytes;
    this.grown -= bytes;
  }
}

export class ReceiveWindow {
  readonly #budget: WindowBudget;
  #size: number;
  #credit: number;
  /** Taken on by the consumer and not yet given back to the peer. */
  #owed = 0;
  #lastReturnMs: number;

  constructor(budget: WindowBudget) {
    this.#budget = budget;
    this.#size = budget.initial;
    this.#credit = budget.initial;
    this.#lastReturnMs = budget.maxWindow > budget.initial ? budget.clock.monotonic() : 0;
  }

  /** What the peer may still send, bytes. */
  get credit(): number {
    return this.#credit;
  }

  /** Counts what the peer announced; false when it had no credit for it. */
  arrive(bytes: number): boolean {
    this.#credit -= bytes;
    return this.#credit >= 0;
  }

  /** Counts what the consumer took; returns the increment to send now, mostly 0. */
  consumed(bytes: number): number {
    this.#owed += bytes;
    if (this.#owed < this.#size >>> 2) return 0;
    let increment = this.#owed;
    this.#owed = 0;
    if (this.#budget.maxWindow > this.#budget.initial) increment += this.#grow(increment);
    this.#credit += increment;
    return increment;
  }

  /** The stream is over. */
  close(): void {
    this.#budget.giveBack(this.#size - this.#budget.initial);
    this.#size = this.#budget.initial;
  }

  #grow(returned: number): number {
    const budget = this.#budget;
    const now = budget.clock.monotonic();
    const elapsedMs = now - this.#lastReturnMs;
    this.#lastReturnMs = now;
    if (this.#size >= budget.maxWindow) return 0;
    const roundTripMs =
      this.#size < cheapWindow ? Math.max(budget.roundTripMs, assumedRoundTripMs) : budget.roundTripMs;
    if (elapsedMs * (this.#size / returned) > 2 * roundTripMs) return 0;
    const more = Math.min(this.#size, budget.maxWindow - this.#size);
    if (!budget.take(more)) return 0;
    this.#size += more;
    return more;
  }
}
