/** A worker thread whose heart beats until it is told to work, which never ends; see `watchThread`. */
import { parentPort, workerData } from "node:worker_threads";
import { setTimeout as delay } from "node:timers/promises";
import { beat, resumed, workOn } from "../../src/lib/heartbeat.ts";
import type { Heart } from "../../src/lib/heartbeat.ts";

export interface HangingWork {
  readonly mark: number;
  /** It hangs behind a wait. */
  readonly waits: boolean;
}

beat(workerData as Heart);
parentPort?.on("message", ({ mark, waits }: HangingWork) => {
  workOn(mark);
  if (waits) void delay(1).then(resumed(neverEnds));
  else neverEnds();
  workOn(0);
});
parentPort?.postMessage("ready");

function neverEnds(): never {
  for (let turns = 0; ; turns += 1) if (turns < 0) throw new Error("it never ends");
}
