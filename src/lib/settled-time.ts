/** Wall-clock time for decisions that cannot be taken back, such as deleting what is old. */
import type { Clock } from "./clock.ts";

export interface SettledTime {
  /**
   * Milliseconds since 1970. After the wall clock has jumped, this goes on as before until the clock has kept its new
   * time for two hours.
   */
  now(): number;
  /** Grows each time that a jump is accepted. */
  readonly jumps: number;
}

/** What a clock may be set on or back by when it is adjusted as usual. */
const adjustmentMs = 5 * 60_000;
const settleMs = 2 * 60 * 60_000;
/** A start that is later than this after the last known time goes on from there: the clock may be wrong from the beginning. */
const usualGapMs = 24 * 60 * 60_000;

/** @param lastKnownMs when something was last written before this start; undefined when that is not known */
export function makeSettledTime(clock: Clock, lastKnownMs?: number): SettledTime {
  const start = clock.now();
  const first = lastKnownMs !== undefined && start > lastKnownMs + usualGapMs ? lastKnownMs : start;
  /** Of the wall clock to the monotonic one. */
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
