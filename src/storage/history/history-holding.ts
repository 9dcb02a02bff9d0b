/** Reason why pruning waits for the operator to confirm the clock, for the log and for `/problems`. */
import type { Log } from "../../lib/log.ts";

type HoldListener = (why: string | undefined) => void;

export interface Holding {
  tell(why: string | undefined): void;
  /** Calls `listener` with the present reason, and on each change. */
  onHeld(listener: HoldListener): void;
}

export function makeHolding(log: Log): Holding {
  const listeners: HoldListener[] = [];
  let present: string | undefined;
  return {
    tell(why) {
      if (why === present) return;
      present = why;
      if (why !== undefined) log.warn("history is not pruned", { problem: why });
      for (const listener of listeners) listener(why);
    },
    onHeld(listener) {
      listeners.push(listener);
      listener(present);
    },
  };
}
