import { startThreadProgram } from "../lib/thread-programs.ts";
import type { BacktestNews, BacktestRunner } from "../routing/planes/backtests.ts";
import type { CapturePlaces } from "../capture/store/read-records.ts";
import { letGo } from "../lib/boundary.ts";
import type { BacktestSettings } from "./settings.ts";
import type { BacktestThreadData } from "./worker.ts";

/** Maximum heap of a backtest's thread, MiB. */
const heapMiB = 1024;

/** Runs each backtest in a thread of its own. */
export function backtestRunner(places: () => CapturePlaces, settings: BacktestSettings): BacktestRunner {
  return {
    start(job, told) {
      const workerData: BacktestThreadData = { job, settings, places: places() };
      const thread = startThreadProgram(new URL("./worker.ts", import.meta.url), {
        name: "backtest",
        workerData,
        resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      });
      thread.on("message", (news: BacktestNews) => told(news));
      thread.on("error", (error: Error) => told({ type: "failed", message: error.message }));
      return { stop: () => letGo("task", thread.terminate()) };
    },
  };
}
