import type { Clock } from "../../lib/clock.ts";
import { randomText } from "../../lib/ids.ts";

/** Returns a generator of request ids: time, a part for this process, and a counter. Ids need not be secret. */
export function operationIds(clock: Clock): () => string {
  const process = randomText(8);
  const first = 36 ** 7;
  let count = 0;
  let lastMs = -1;
  let head = "";
  return () => {
    const ms = clock.now();
    if (ms !== lastMs) {
      lastMs = ms;
      head = `op_${Math.floor(ms * 1000)
        .toString(36)
        .padStart(11, "0")
        .slice(0, 11)}${process}`;
    }
    count += 1;
    return head + (first + count).toString(36);
  };
}
