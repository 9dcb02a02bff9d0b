/** A worker thread with a heartbeat. It hangs when it gets work; see `watchThread`. */
import { parentPort, workerData } from "node:worker_threads";
import { setTimeout as delay } from "node:timers/promises";
import { startHeartbeat, resumeMark, workOn } from "../../src/lib/heartbeat.ts";
import type { Heart } from "../../src/lib/heartbeat.ts";

export interface HangingWork {
  readonly mark: number;
  /** Whether the thread hangs after an await. */
  readonly waits: boolean;
}

startHeartbeat(workerData as Heart);
parentPort?.on("message", ({ mark, waits }: HangingWork) => {
  workOn(mark);
  if (waits) void delay(1).then(resumeMark(neverEnds));
  else neverEnds();
  workOn(0);
});
parentPort?.postMessage("ready");

function neverEnds(): never {
  for (let turns = 0; ; turns += 1) if (turns < 0) throw new Error("it never ends");
}
