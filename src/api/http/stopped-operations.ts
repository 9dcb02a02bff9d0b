/** Operations that the watchdog has ended with the whole control plane: a key that asked for one cannot repeat it for a while. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { workOn } from "../../lib/heartbeat.ts";
import { markOf } from "../../lib/work-mark.ts";
import type { Call, Reply } from "../operation/call.ts";

/** How long they are refused after a start. */
const refusedMs = 600_000;

export interface StoppedOperations {
  /** Runs the operation, noted for the watchdog as long as it holds the thread; throws `Refusal`. */
  run(call: Call): Reply | Promise<Reply>;
}

/** @param refused marks of what earlier runs of the control plane have hung on */
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
