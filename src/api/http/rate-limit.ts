import type { Clock } from "../../lib/clock.ts";

/** What is left to one subject: the moment (monotonic) at which its allowance would be whole again. */
export interface Bucket {
  wholeAtMs: number;
}

export interface Allowance {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the whole allowance is there again; when refused, until the next request is allowed. */
  readonly resetSeconds: number;
}

export interface RateLimit {
  readonly perMinute: number;
  /** Takes one from the bucket, if there is one in it. */
  take(bucket: Bucket): Allowance;
}

const windowMs = 60_000;
/** Sums of fractions may be off by this much. */
const slackMs = 1e-6;

/** An allowance of `perMinute` that refills evenly (the generic cell rate algorithm). */
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

/** Addresses that are remembered; the one that was made first goes first. */
const maxAddresses = 10_000;

/** Buckets for subjects that nobody else keeps, such as addresses. */
export function makeBuckets(): (subject: string) => Bucket {
  const buckets = new Map<string, Bucket>();
  return (subject) => {
    let bucket = buckets.get(subject);
    if (!bucket) buckets.set(subject, (bucket = { wholeAtMs: 0 }));
    if (buckets.size > maxAddresses) buckets.delete(buckets.keys().next().value as string);
    return bucket;
  };
}
