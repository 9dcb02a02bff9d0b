/** A plane's thread that fails in its first starts, for a configured number of times, and then becomes ready. */
import { parentPort, workerData } from "node:worker_threads";
import type { FromThread, ThreadData } from "../../src/cli/platform/threads/thread-messages.ts";

export interface FailingStarts {
  /** One number, which every start increments. */
  readonly starts: SharedArrayBuffer;
  readonly failures: number;
}

const { starts, failures } = (workerData as ThreadData<FailingStarts>).options;
if (Atomics.add(new Int32Array(starts), 0, 1) < failures) throw new Error("this start fails");
parentPort?.on("message", () => parentPort?.postMessage({ type: "stopped" } satisfies FromThread<object>));
parentPort?.postMessage({ type: "ready", ports: {} } satisfies FromThread<object>);
