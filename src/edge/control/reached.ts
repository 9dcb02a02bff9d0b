/** How far this edge has come, for those who wait for it: with the configuration, and with what other nodes tell. */
import type { Clock } from "../../lib/clock.ts";

/** A revision, and a change of what other nodes have; 0: any. */
export interface Milestone {
  readonly revision: number;
  readonly change: number;
}

export interface Reached {
  /** What is named is in effect from now on. */
  put(part: Partial<Milestone>): void;
  /** Resolves with true once both are in effect, with false after `timeoutMs`. */
  wait(wanted: Milestone, timeoutMs: number): Promise<boolean>;
}

/** Beyond them nobody waits. */
const maxWaiting = 10_000;

export function trackReached(clock: Clock): Reached {
  let reached: Milestone = { revision: 0, change: 0 };
  const waiting = new Set<() => void>();
  const has = ({ revision, change }: Milestone): boolean => reached.revision >= revision && reached.change >= change;
  return {
    put(part) {
      reached = { ...reached, ...part };
      for (const look of waiting) look();
    },
    wait(wanted, timeoutMs) {
      if (has(wanted) || waiting.size >= maxWaiting) return Promise.resolve(has(wanted));
      return new Promise((resolve) => {
        const settle = (isReached: boolean): void => {
          deadline.cancel();
          waiting.delete(look);
          resolve(isReached);
        };
        const look = (): void => {
          if (has(wanted)) settle(true);
        };
        const deadline = clock.after(timeoutMs, () => settle(false));
        waiting.add(look);
      });
    },
  };
}
