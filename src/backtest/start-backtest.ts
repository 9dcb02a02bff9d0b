import type { AddressData } from "../geo/address-book.ts";
import { startThreadProgram } from "../lib/thread-programs.ts";
import type { BacktestRunner } from "../routing/planes/backtests.ts";
import type { BlockQuestion } from "../routing/planes/captured-blocks.ts";
import type { CapturePlaces } from "../capture/store/read-records.ts";
import { runUnattended } from "../lib/boundary.ts";
import type { BacktestSettings } from "./backtest-settings.ts";
import type { BacktestThreadData, FromBacktest, ToBacktest } from "./backtest-worker.ts";

/** Maximum heap of a backtest's thread, MiB. */
const heapMiB = 1024;

/** Runs each backtest in a thread of its own. */
export function backtestRunner(
  places: () => CapturePlaces,
  settings: BacktestSettings,
  addresses: () => AddressData | undefined = () => undefined,
): BacktestRunner {
  return {
    start(job, otherNodes, onNews) {
      const nodes = new Map(otherNodes.map((node) => [node.id, node]));
      const nodeIds = [...nodes.keys()];
      const workerData: BacktestThreadData = {
        job,
        settings,
        places: places(),
        others: nodeIds,
        addresses: addresses(),
      };
      const thread = startThreadProgram(new URL("./backtest-worker.ts", import.meta.url), {
        name: "backtest",
        workerData,
        resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      });
      const ask = async (nodeId: string, call: number, question: BlockQuestion): Promise<void> => {
        const answer = await nodes.get(nodeId)?.ask(question);
        thread.postMessage({ call, answer } satisfies ToBacktest);
      };
      thread.on("message", (message: FromBacktest) => {
        if (message.type === "ask") runUnattended("task", ask(message.nodeId, message.call, message.question));
        else onNews(message);
      });
      thread.on("error", (error: Error) => onNews({ type: "failed", message: error.message }));
      return { stop: () => runUnattended("task", thread.terminate()) };
    },
  };
}
