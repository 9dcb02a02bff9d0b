import type { BacktestRunner } from "../../routing/planes/backtests.ts";
import { noResults } from "./backtest-view.ts";

/** Runs backtests where no requests are captured: they end immediately, without results. */
export const withoutRecords: BacktestRunner = {
  start(_job, _others, report) {
    queueMicrotask(() => report({ type: "done", report: noResults }));
    return { stop() {} };
  },
};
