import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FailingStarts } from "../../../../test/support/failing-thread.ts";
import { systemClock } from "../../../lib/clock.ts";
import { silentLog } from "../../../lib/log.ts";
import { superviseThread } from "./supervise.ts";

describe("a supervised thread", { timeout: 60_000 }, () => {
  /** Resolves with the number of starts and the result. */
  async function startWith(failures: number): Promise<{ readonly starts: number; readonly outcome: string }> {
    const starts = new SharedArrayBuffer(4);
    const thread = superviseThread<FailingStarts, object>({
      name: "edge",
      file: new URL("../../../../test/support/failing-thread.ts", import.meta.url),
      log: silentLog,
      logForm: { level: "error", format: "json" },
      clock: systemClock,
      watchSeconds: 0,
      options: () => ({ starts, failures }),
      lines: () => [],
    });
    const outcome = await thread.started.then(() => "ready").catch((error: unknown) => (error as Error).message);
    await thread.stop(5_000);
    return { starts: Atomics.load(new Int32Array(starts), 0), outcome };
  }

  it("a supervised thread restarts three times if it crashes before it is ready", async () => {
    assert.deepEqual(await startWith(3), { starts: 4, outcome: "ready" });
  });

  it("a supervised thread that crashes at every start fails with the error of its start", async () => {
    assert.deepEqual(await startWith(Infinity), { starts: 4, outcome: "this start fails" });
  });
});
