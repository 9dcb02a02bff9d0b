/**
 * The credit that the receiving side of a stream gives. It starts at the protocol's fixed window; between peers that
 * agreed on it (§8) it grows with use: a window that was used up within two round trips is what limits the flow, and
 * is doubled.
 */
import type { Clock } from "../../lib/clock.ts";
import { initialWindow } from "./frame.ts";

/** Up to this a window grows as if the round trip were `assumedRoundTripMs`: also without distance a turn takes time. */
const cheapWindow = 1024 * 1024;
const assumedRoundTripMs = 10;

/** What all streams of a session share: how far windows may grow, and how much more than the first they have. */
export class WindowBudget {
  readonly clock: Clock;
  /** Shortest round trip seen, milliseconds; 0 while unknown. */
  roundTripMs = 0;
  /** Largest window of one stream, bytes. */
  maxWindow = initialWindow;
  #left = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Allows windows up to `maxWindow`, as long as their sum exceeds the first windows by at most `budget` bytes. */
  allow(maxWindow: number, budget: number): void {
    this.maxWindow = maxWindow;
    this.#left = budget;
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

export class ReceiveWindow {
  readonly #budget: WindowBudget;
  #size = initialWindow;
  #credit = initialWindow;
  /** Taken on by the consumer and not yet given back to the peer. */
  #owed = 0;
  #lastReturnMs: number;

  constructor(budget: WindowBudget) {
    this.#budget = budget;
    this.#lastReturnMs = budget.maxWindow > initialWindow ? budget.clock.monotonic() : 0;
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
    if (this.#budget.maxWindow > initialWindow) increment += this.#grow(increment);
    this.#credit += increment;
    return increment;
  }

  /** The stream is over. */
  close(): void {
    this.#budget.giveBack(this.#size - initialWindow);
    this.#size = initialWindow;
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
