/** The thread of one backtest: reads the node's captured requests and tries them, at low priority. */
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { readRecords } from "../capture/store/read-records.ts";
import type { CapturePlaces } from "../capture/store/read-records.ts";
import type { BacktestJob, BacktestNews } from "../routing/planes/backtests.ts";
import { Backtest } from "./backtest.ts";
import type { BacktestSettings } from "./settings.ts";

export interface BacktestThreadData {
  readonly job: BacktestJob;
  readonly settings: BacktestSettings;
  readonly places: CapturePlaces;
}

/** Nice value of the thread. Traffic goes first. */
const niceness = 15;
const progressMs = 250;
/** Number of requests between two looks at the clock. */
const stride = 256;

/** Only Linux has priorities of threads. Elsewhere the thread has the server's priority. */
function yieldToTraffic(): void {
  if (process.platform !== "linux") return;
  try {
    const thread = readlinkSync("/proc/thread-self").split("/").at(-1);
    setPriority(Number(thread), niceness);
  } catch {
    // A container may not have /proc.
  }
}

const tell = (news: BacktestNews): void => parentPort?.postMessage(news);

async function run({ job, settings, places }: BacktestThreadData): Promise<void> {
  const { accountId, since, until, filter } = job;
  const backtest = new Backtest({ ...job, settings });
  let count = 0;
  let toldAt = performance.now();
  for await (const record of readRecords(places, { accountId, since, until, filter }, { gap: () => backtest.gap() })) {
    const trying = backtest.try(record);
    if (trying !== undefined) await trying;
    count += 1;
    if (count % stride !== 0 || performance.now() - toldAt < progressMs) continue;
    toldAt = performance.now();
    tell({ type: "progress", report: backtest.report });
  }
  tell({ type: "done", report: backtest.report });
}

yieldToTraffic();
await run(workerData as BacktestThreadData);
