/** Limits concurrent calls per provider. Further calls wait in order, for a limited time. */
import type { Clock, Timer } from "../../lib/clock.ts";
import { LoginRefusal } from "./identity.ts";

export interface TurnBounds {
  /** Maximum concurrent calls per key. */
  readonly maxUnderWay: number;
  /** Maximum waiting calls per key. */
  readonly maxWaiting: number;
  readonly waitMs: number;
}

interface WaitingCall {
  readonly go: () => void;
  readonly late: Timer;
}

interface HostLine {
  underWay: number;
  readonly waiting: Set<WaitingCall>;
}

export interface CallTurns {
  /** Runs `call` when it is its turn. Rejects with a `LoginRefusal` ("login_busy") if that takes too long. */
  take<Result>(key: string, call: () => Promise<Result>): Promise<Result>;
}

export function makeTurns(clock: Clock, { maxUnderWay, maxWaiting, waitMs }: TurnBounds): CallTurns {
  const lines = new Map<string, HostLine>();

  const turnIn = (line: HostLine): Promise<void> | undefined => {
    if (line.underWay < maxUnderWay) {
      line.underWay += 1;
      return undefined;
    }
    if (line.waiting.size >= maxWaiting) {
      throw new LoginRefusal("login_busy", `${maxUnderWay} calls to it are running, and ${maxWaiting} are waiting`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = clock.after(waitMs, () => {
      line.waiting.delete(one);
      reject(new LoginRefusal("login_busy", `${maxUnderWay} calls to it were running for ${waitMs / 1000} s`));
    });
    const one: WaitingCall = { go: resolve, late: timer };
    line.waiting.add(one);
    return promise;
  };
  /** Starts the next call. */
  const end = (key: string, line: HostLine): void => {
    const [next] = line.waiting;
    if (next) {
      line.waiting.delete(next);
      next.late.cancel();
      next.go();
    } else {
      line.underWay -= 1;
      if (line.underWay === 0) lines.delete(key);
    }
  };
  return {
    async take(key, call) {
      let line = lines.get(key);
      if (!line) lines.set(key, (line = { underWay: 0, waiting: new Set() }));
      const turn = turnIn(line);
      if (turn) await turn;
      try {
        return await call();
      } finally {
        end(key, line);
      }
    },
  };
}
