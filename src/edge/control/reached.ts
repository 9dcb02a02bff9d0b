/** Progress of this edge with the configuration and with other nodes' news, and those waiting for it. */
import type { Clock } from "../../lib/clock.ts";

/** A revision, and a change of other nodes' data. 0 means any. */
export interface Milestone {
  readonly revision: number;
  readonly change: number;
}

export interface Reached {
  /** Records the progress. */
  put(part: Partial<Milestone>): void;
  /** Resolves with true when both are reached, or with false after `timeoutMs`. */
  wait(wanted: Milestone, timeoutMs: number): Promise<boolean>;
}

/** Maximum number of waiting calls. */
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
