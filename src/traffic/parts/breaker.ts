export interface BreakerLimits {
  /** Minimum number of requests in the window before the breaker can trip. */
  readonly volume: number;
  /** Failure rate from 0 to 1 at which it trips. */
  readonly share: number;
  readonly trippedMs: number;
}

export type Admission = "closed" | "probe" | "open";

/** The state of one circuit: outcomes in a rolling window of buckets, and whether it is open. */
export class Breaker {
  readonly #bucketMs: number;
  readonly #totals: Float64Array;
  readonly #failures: Float64Array;
  /** Number of the current bucket, counted from the clock's start. */
  #bucket = 0;
  #total = 0;
  #failed = 0;
  /** When the circuit opened; undefined while closed. */
  #openedAt: number | undefined;
  /** The probe request of the half-open state, and when it started. */
  #probe: object | undefined;
  #probedAt = 0;

  constructor(windowMs: number, buckets: number) {
    this.#bucketMs = windowMs / buckets;
    this.#totals = new Float64Array(buckets);
    this.#failures = new Float64Array(buckets);
  }

  /** Whether everything is admitted, regardless of time. */
  get isClosed(): boolean {
    return this.#openedAt === undefined;
  }

  /** @param now monotonic milliseconds */
  admit(request: object, now: number, limits: BreakerLimits): Admission {
    const admission = this.wouldAdmit(now, limits);
    if (admission === "probe") {
      this.#probe = request;
      this.#probedAt = now;
    }
    return admission;
  }

  wouldAdmit(now: number, { trippedMs }: BreakerLimits): Admission {
    if (this.#openedAt === undefined) return "closed";
    if (now - this.#openedAt < trippedMs) return "open";
    // A probe that hangs is replaced: after the same time again, the next request becomes the probe.
    return this.#probe && now - this.#probedAt < trippedMs ? "open" : "probe";
  }

  settle(request: object, failed: boolean, now: number, limits: BreakerLimits): void {
    if (this.#openedAt !== undefined) {
      // Requests that were sent before the circuit opened provide no new information.
      if (request !== this.#probe) return;
      this.#probe = undefined;
      if (failed) this.#openedAt = now;
      else this.#close();
      return;
    }
    this.#roll(now);
    const at = this.#bucket % this.#totals.length;
    this.#totals[at] = (this.#totals[at] as number) + 1;
    this.#total += 1;
    if (failed) {
      this.#failures[at] = (this.#failures[at] as number) + 1;
      this.#failed += 1;
    }
    if (this.#failed > 0 && this.#total >= limits.volume && this.#failed / this.#total >= limits.share) {
      this.#openedAt = now;
      this.#probe = undefined;
    }
  }

  /** The client disconnected, so the outcome is unknown. The next request may become the probe. */
  abandon(request: object): void {
    if (request === this.#probe) this.#probe = undefined;
  }

  /** Discards buckets that have left the window. */
  #roll(now: number): void {
    const bucket = Math.floor(now / this.#bucketMs);
    const size = this.#totals.length;
    for (let gone = Math.min(bucket - this.#bucket, size); gone > 0; gone -= 1) {
      const at = (bucket - gone + 1) % size;
      this.#total -= this.#totals[at] as number;
      this.#failed -= this.#failures[at] as number;
      this.#totals[at] = 0;
      this.#failures[at] = 0;
    }
    this.#bucket = bucket;
  }

  #close(): void {
    this.#openedAt = undefined;
    this.#totals.fill(0);
    this.#failures.fill(0);
    this.#total = 0;
    this.#failed = 0;
  }
}
