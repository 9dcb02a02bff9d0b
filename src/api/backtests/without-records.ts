import type { BacktestRunner } from "../../routing/planes/backtests.ts";
import { noResults } from "./view.ts";

/** Runs backtests where no requests are captured: they end immediately, without results. */
export const withoutRecords: BacktestRunner = {
  start(_job, _others, told) {
    queueMicrotask(() => told({ type: "done", report: noResults }));
    return { stop() {} };
  },
};
