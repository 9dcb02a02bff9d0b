import type { Clock } from "../../lib/clock.ts";

/** State of one subject: the monotonic time at which its allowance is full again. */
export interface Bucket {
  wholeAtMs: number;
}

export interface Allowance {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the allowance is full again. If rejected, seconds until the next request is allowed. */
  readonly resetSeconds: number;
}

export interface RateLimit {
  readonly perMinute: number;
  /** Takes one from the allowance, if any is left. */
  take(bucket: Bucket): Allowance;
}

const windowMs = 60_000;
/** Tolerance for rounding errors. */
const slackMs = 1e-6;

/** Returns an allowance of `perMinute` that refills evenly (the generic cell rate algorithm). */
export function makeRateLimit(clock: Clock, perMinute: number): RateLimit {
  const cost = windowMs / perMinute;
  return {
    perMinute,
    take(bucket) {
      const now = clock.monotonic();
      const used = Math.max(bucket.wholeAtMs - now, 0) + cost;
      if (used > windowMs + slackMs) {
        return { allowed: false, remaining: 0, resetSeconds: Math.max(1, Math.ceil((used - windowMs) / 1000)) };
      }
      bucket.wholeAtMs = now + used;
      const remaining = Math.floor((windowMs - used + slackMs) / cost);
      return { allowed: true, remaining, resetSeconds: Math.ceil(used / 1000) };
    },
  };
}

/** Maximum number of addresses. The oldest entry is evicted. */
const maxAddresses = 10_000;

/** Returns buckets for subjects without their own state, such as addresses. */
export function makeBuckets(): (subject: string) => Bucket {
  const buckets = new Map<string, Bucket>();
  return (subject) => {
    let bucket = buckets.get(subject);
    if (!bucket) buckets.set(subject, (bucket = { wholeAtMs: 0 }));
    if (buckets.size > maxAddresses) buckets.delete(buckets.keys().next().value as string);
    return bucket;
  };
}
