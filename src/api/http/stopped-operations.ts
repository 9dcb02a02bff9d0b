/**
 * Operations that hung, so that the watchdog restarted the control plane. The same key cannot repeat them for a while.
 */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { workOn } from "../../lib/heartbeat.ts";
import { markOf } from "../../lib/work-mark.ts";
import type { Call, Reply } from "../operation/call.ts";

/** How long they are rejected after a start. */
const refusedMs = 600_000;

export interface StoppedOperations {
  /** Runs the operation, and marks it for the watchdog while it blocks the thread. Throws `Refusal`. */
  run(call: Call): Reply | Promise<Reply>;
}

/** @param refused marks of operations that hung in earlier runs of the control plane */
export function makeStoppedOperations(refused: ReadonlySet<number>, clock: Clock): StoppedOperations {
  const until = clock.monotonic() + refusedMs;
  return {
    run(call) {
      const { operation, principal } = call;
      const mark = markOf(operation.id, principal.id);
      if (refused.has(mark) && clock.monotonic() < until) {
        throw new Refusal(
          "operation_stopped",
          `${operation.id} blocked the management API at the last call with this key`,
        );
      }
      workOn(mark);
      try {
        return operation.run(call);
      } finally {
        workOn(0);
      }
    },
  };
}
