import type { Clock } from "../lib/clock.ts";

export interface Allowance {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the whole allowance is there again; when refused, until the next request is allowed. */
  readonly resetSeconds: number;
}

export interface RateLimit {
  readonly perMinute: number;
  /** Takes one from the allowance of `subject`. */
  take(subject: string): Allowance;
  /** Whether something is left, without taking it. */
  left(subject: string): Allowance;
}

/** Subjects that are remembered; the one that was not seen for longest goes first. */
const maxSubjects = 10_000;

/**
 * An allowance of `perMinute` per subject that refills evenly (GCRA): each subject has the moment at which its
 * allowance would be whole again.
 */
export function makeRateLimit(clock: Clock, perMinute: number): RateLimit {
  const whole = new Map<string, number>();
  const cost = 60_000 / perMinute;
  const state = (at: number, now: number): Allowance => {
    const used = Math.max(at - now, 0);
    const remaining = Math.floor((60_000 - used) / cost);
    return { allowed: true, remaining, resetSeconds: Math.ceil(used / 1000) };
  };
  return {
    perMinute,
    take(subject) {
      const now = clock.monotonic();
      const at = Math.max(whole.get(subject) ?? 0, now) + cost;
      if (at - now > 60_000 + 1e-6) {
        return { allowed: false, remaining: 0, resetSeconds: Math.max(1, Math.ceil((at - now - 60_000) / 1000)) };
      }
      whole.delete(subject);
      whole.set(subject, at);
      if (whole.size > maxSubjects) whole.delete(whole.keys().next().value as string);
      return state(at, now);
    },
    left(subject) {
      const now = clock.monotonic();
      const at = Math.max(whole.get(subject) ?? 0, now);
      if (at + cost - now <= 60_000 + 1e-6) return state(at, now);
      return { allowed: false, remaining: 0, resetSeconds: Math.max(1, Math.ceil((at + cost - now - 60_000) / 1000)) };
    },
  };
}
