/**
 * Limits login work on the traffic thread to a few pieces per event-loop turn, in order, so that a rush of logins does
 * not delay other traffic.
 */
import { LoginRefusal } from "../calls/identity.ts";

export interface LoginGate {
  /**
   * Returns undefined if the work can start immediately, otherwise a promise that resolves when it can. Throws
   * `LoginRefusal` ("login_busy") if too many are waiting.
   */
  enter(): Promise<void> | undefined;
}

/** One piece takes about 0.2 ms. */
const perTurn = 4;
const maxWaiting = 20_000;
/** Number of served entries after which the queue is compacted. */
const forgotten = 1024;

export function makeLoginGate(): LoginGate {
  let left = perTurn;
  let isTurning = false;
  let waiting: (() => void)[] = [];
  let first = 0;

  const turn = (): void => {
    left = perTurn;
    for (; left > 0 && first < waiting.length; left -= 1) waiting[first++]?.();
    if (first === waiting.length || first >= forgotten) [waiting, first] = [waiting.slice(first), 0];
    isTurning = left < perTurn;
    if (isTurning) setImmediate(turn);
  };
  return {
    enter() {
      if (!isTurning) setImmediate(turn);
      isTurning = true;
      if (left > 0 && waiting.length === 0) {
        left -= 1;
        return undefined;
      }
      const { length } = waiting;
      if (length - first >= maxWaiting)
        throw new LoginRefusal("login_busy", `${maxWaiting} steps of logins are already waiting`);
      return new Promise((resolve) => void waiting.push(resolve));
    },
  };
}
