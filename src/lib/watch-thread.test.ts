import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { systemClock } from "./clock.ts";
import { beatsOf, newHeart } from "./heartbeat.ts";
import { silentLog } from "./log.ts";
import { watchThread } from "./watch-thread.ts";
import type { HangingWork } from "../../test/support/hanging-worker.ts";
import { eventually } from "../../test/support/eventually.ts";

describe("a watched thread", { timeout: 60_000 }, () => {
  for (const waits of [false, true])
    it(`a watched thread is terminated when it hangs${waits ? " after a wait" : ""}, with its stack in the log and the mark of its work`, async () => {
      const heart = newHeart();
      const worker = new Worker(new URL("../../test/support/hanging-worker.ts", import.meta.url), {
        workerData: heart,
      });
      await once(worker, "message");
      const told: unknown[] = [];
      const logged: Readonly<Record<string, unknown>>[] = [];
      const log = { ...silentLog, error: (event: string, fields = {}) => void logged.push({ event, ...fields }) };
      const hung = (work: number): void => void told.push(work);
      watchThread({ name: "thread", worker, heart, seconds: 1, clock: systemClock, log, hung });
      const beats = beatsOf(heart);
      await eventually(
        () => beatsOf(heart),
        (now) => now > beats + 10,
      );
      assert.deepEqual(told, [], "a thread that is idle answers");
      worker.postMessage({ mark: 42, waits } satisfies HangingWork);
      await once(worker, "exit");
      assert.deepEqual(told, [42]);
      assert.equal(logged[0]?.["event"], "thread hangs, ending it");
      assert.match(String(logged[0]?.["stack"]), /^neverEnds \(.*hanging-worker/);
    });
});
