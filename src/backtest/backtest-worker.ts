/** The thread of one backtest: reads the captured requests of all nodes and tries them, at low priority. */
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { AddressBook } from "../geo/address-book.ts";
import type { AddressData } from "../geo/address-book.ts";
import { loadShippedCountries } from "../geo/load-database.ts";
import { readRecords } from "../capture/store/read-records.ts";
import type { CapturePlaces } from "../capture/store/read-records.ts";
import type { BacktestJob, BacktestNews } from "../routing/planes/backtests.ts";
import type { BlockAnswer, BlockQuestion, CaptureGap, RecordingNode } from "../routing/planes/captured-blocks.ts";
import { Backtest } from "./backtest.ts";
import type { BacktestSettings } from "./backtest-settings.ts";

export interface BacktestThreadData {
  readonly job: BacktestJob;
  readonly settings: BacktestSettings;
  readonly places: CapturePlaces;
  /** Ids of the other nodes. The thread that started this one asks them. */
  readonly others: readonly string[];
  /** Present locations and categories of addresses. Undefined if no rule of the server reads them. */
  readonly addresses: AddressData | undefined;
}

export type FromBacktest =
  | BacktestNews
  | { readonly type: "ask"; readonly call: number; readonly nodeId: string; readonly question: BlockQuestion };

export interface ToBacktest {
  readonly call: number;
  readonly answer: BlockAnswer | undefined;
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

const postNews = (news: FromBacktest): void => parentPort?.postMessage(news);

function nodesOf(ids: readonly string[]): readonly RecordingNode[] {
  const waiting = new Map<number, (answer: BlockAnswer | undefined) => void>();
  let lastCall = 0;
  parentPort?.on("message", ({ call, answer }: ToBacktest) => {
    waiting.get(call)?.(answer);
    waiting.delete(call);
  });
  return ids.map((nodeId) => ({
    id: nodeId,
    ask: (question) =>
      new Promise((resolve) => {
        const call = (lastCall += 1);
        waiting.set(call, resolve);
        postNews({ type: "ask", call, nodeId, question });
      }),
  }));
}

async function runBacktest({ job, settings, places, others, addresses: data }: BacktestThreadData): Promise<void> {
  const { accountId, since, until, filter } = job;
  const addresses = new AddressBook(() => {});
  // The candidate may have the server's first rule that reads locations.
  addresses.take(data ?? { databases: [await loadShippedCountries()], hasCountries: true, categories: [] });
  const backtest = new Backtest({ ...job, settings }, addresses);
  let count = 0;
  let toldAt = performance.now();
  const reading = { others: nodesOf(others), gap: (gap: CaptureGap) => backtest.gap(gap) };
  for await (const record of readRecords(places, { accountId, since, until, filter }, reading)) {
    const trying = backtest.try(record);
    if (trying !== undefined) await trying;
    count += 1;
    if (count % stride !== 0 || performance.now() - toldAt < progressMs) continue;
    toldAt = performance.now();
    postNews({ type: "progress", report: backtest.report });
  }
  postNews({ type: "done", report: backtest.report });
  parentPort?.close();
}

yieldToTraffic();
await runBacktest(workerData as BacktestThreadData);
