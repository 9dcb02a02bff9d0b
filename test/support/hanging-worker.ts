/** A worker thread whose heart beats until it is told to work, which never ends; see `watchThread`. */
import { parentPort, workerData } from "node:worker_threads";
import { beat, workOn } from "../../src/lib/heartbeat.ts";
import type { Heart } from "../../src/lib/heartbeat.ts";

beat(workerData as Heart);
parentPort?.on("message", (mark: number) => {
  workOn(mark);
  neverEnds();
});
parentPort?.postMessage("ready");

function neverEnds(): never {
  for (let turns = 0; ; turns += 1) if (turns < 0) throw new Error("it never ends");
}
