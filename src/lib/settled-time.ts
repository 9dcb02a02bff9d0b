/** Wall-clock time for irreversible decisions, such as deleting old data. */
import type { Clock } from "./clock.ts";

export interface SettledTime {
  /**
   * Milliseconds since 1970. After a jump of the wall clock, this continues as before until the clock has kept its new
   * time for two hours.
   */
  now(): number;
  /** Grows each time that a jump is accepted. */
  readonly jumps: number;
}

/** Maximum difference of a usual clock adjustment. */
const adjustmentMs = 5 * 60_000;
const settleMs = 2 * 60 * 60_000;
/**
 * If a start is later than this after the last known time, it continues from that time: the clock may be wrong from the
 * beginning.
 */
const usualGapMs = 24 * 60 * 60_000;

/** @param lastKnownMs time of the last write before this start; undefined if unknown */
export function makeSettledTime(clock: Clock, lastKnownMs?: number): SettledTime {
  const start = clock.now();
  const first = lastKnownMs !== undefined && start > lastKnownMs + usualGapMs ? lastKnownMs : start;
  /** Difference between the wall clock and the monotonic one. */
  let offset = first - clock.monotonic();
  let candidate: { readonly offset: number; readonly since: number } | undefined;
  let jumps = 0;
  return {
    now() {
      const monotonic = clock.monotonic();
      const present = clock.now() - monotonic;
      if (isNear(present, offset)) {
        offset = present;
        candidate = undefined;
      } else if (!candidate || !isNear(present, candidate.offset)) {
        candidate = { offset: present, since: monotonic };
      } else if (monotonic - candidate.since >= settleMs) {
        offset = present;
        candidate = undefined;
        jumps += 1;
      }
      return Math.round(monotonic + offset);
    },
    get jumps() {
      return jumps;
    },
  };
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= adjustmentMs;
}
