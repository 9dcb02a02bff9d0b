export interface BreakerLimits {
  /** Requests in the window below which it never trips. */
  readonly volume: number;
  /** Failures per request, 0 to 1, from which on it trips. */
  readonly share: number;
  readonly trippedMs: number;
}

export type Admission = "closed" | "probe" | "open";

/** The state of one circuit: what happened in a rolling window of buckets, and whether it is open. */
export class Breaker {
  readonly #bucketMs: number;
  readonly #totals: Float64Array;
  readonly #failures: Float64Array;
  /** Number of the current bucket since the clock's start. */
  #bucket = 0;
  #total = 0;
  #failed = 0;
  /** When it opened; undefined while closed. */
  #openedAt: number | undefined;
  /** The request that found it half-open, and since when. */
  #probe: object | undefined;
  #probedAt = 0;

  constructor(windowMs: number, buckets: number) {
    this.#bucketMs = windowMs / buckets;
    this.#totals = new Float64Array(buckets);
    this.#failures = new Float64Array(buckets);
  }

  /** Admits everything, whatever the time is. */
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
    // A probe that hangs is not waited for: after as long again the next request takes its place.
    return this.#probe && now - this.#probedAt < trippedMs ? "open" : "probe";
  }

  settle(request: object, failed: boolean, now: number, limits: BreakerLimits): void {
    if (this.#openedAt !== undefined) {
      // Of those sent before it opened nothing new is learned.
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

  /** The client went away: nothing is known of the upstream, and the next request may probe it. */
  abandon(request: object): void {
    if (request === this.#probe) this.#probe = undefined;
  }

  /** Forgets the buckets that have left the window. */
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
