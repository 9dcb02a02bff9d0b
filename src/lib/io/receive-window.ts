/**
 * Credit that the receiver of a stream gives: of a tunnel (agent-protocol §8), or of HTTP/2 (RFC 9113 §5.2). It starts
 * with the initial size that the peer knows, and grows with use where that is allowed. A window that was used up within
 * two round trips limits the flow, so it is doubled.
 */
import type { Clock } from "../clock.ts";

/**
 * Up to this size, a window grows as if the round trip were `assumedRoundTripMs`: even without a round trip, a turn
 * takes time.
 */
const cheapWindow = 1024 * 1024;
const assumedRoundTripMs = 10;

/** Total bytes by which windows may exceed their initial sizes. */
export class WindowReserve {
  left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }
}

/** Shared by all streams of a connection: the maximum size of windows, and how far they exceed their initial sizes. */
export class WindowBudget {
  readonly clock: Clock;
  /** Initial size of each window, bytes. */
  readonly initial: number;
  /** Shortest round trip seen, milliseconds; 0 while unknown. */
  roundTripMs = 0;
  /** Maximum window of one stream, bytes. */
  maxWindow: number;
  /** Bytes by which the windows of the connection now exceed their initial sizes. */
  grown = 0;
  #reserve: WindowReserve | undefined;

  constructor(clock: Clock, initial: number) {
    this.clock = clock;
    this.initial = initial;
    this.maxWindow = initial;
  }

  /** Allows windows up to `maxWindow`, as long as `reserve` has enough for their growth. */
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
  /** Bytes consumed and not yet returned to the peer. */
  #owed = 0;
  #lastReturnMs: number;

  constructor(budget: WindowBudget) {
    this.#budget = budget;
    this.#size = budget.initial;
    this.#credit = budget.initial;
    this.#lastReturnMs = budget.maxWindow > budget.initial ? budget.clock.monotonic() : 0;
  }

  /** Bytes that the peer may still send. */
  get credit(): number {
    return this.#credit;
  }

  /** Counts announced bytes of the peer. Returns false if there was not enough credit. */
  arrive(bytes: number): boolean {
    this.#credit -= bytes;
    return this.#credit >= 0;
  }

  /** Counts consumed bytes. Returns the increment to send now, usually 0. */
  consumed(bytes: number): number {
    this.#owed += bytes;
    if (this.#owed < this.#size >>> 2) return 0;
    let increment = this.#owed;
    this.#owed = 0;
    if (this.#budget.maxWindow > this.#budget.initial) increment += this.#grow(increment);
    this.#credit += increment;
    return increment;
  }

  /** Called when the stream has ended. */
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
