/**
 * Work of logins on the traffic thread: a few pieces in each turn of its event loop, in order, so that a rush of visitors
 * waits for other traffic and not other traffic for them.
 */
import { LoginRefusal } from "../calls/identity.ts";

export interface LoginGate {
  /** Undefined: go on at once; else it resolves when it is time. Throws `LoginRefusal` ("login_busy") when too many wait. */
  enter(): Promise<void> | undefined;
}

/** A piece takes about 0.2 ms. */
const perTurn = 4;
const maxWaiting = 20_000;
/** Pieces that went, before what is left of them is let go. */
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
