/** The backtests of this node: running ones, and results for a while. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { BacktestJob, BacktestNews, BacktestReport, BacktestRunner } from "../../routing/planes/backtests.ts";

export type BacktestStatus = "running" | "completed" | "failed" | "cancelled";

export interface KeptBacktest {
  readonly id: string;
  readonly accountId: string;
  /** Id of the API key. */
  readonly keyId: string;
  readonly createdAt: number;
  readonly job: Pick<BacktestJob, "revision" | "since" | "until">;
  readonly changeCount: number;
  status: BacktestStatus;
  /** Why it failed. */
  error: string | undefined;
  report: BacktestReport | undefined;
  stop(): void;
}

export interface BacktestJobs {
  /** @throws Refusal `work_limit` if the account or the server already runs its maximum */
  start(keyId: string, job: BacktestJob): KeptBacktest;
  find(accountId: string, id: string): KeptBacktest | undefined;
  cancel(backtest: KeptBacktest): void;
}

const maxRunning = 4;
const maxRunningOfAccount = 2;
/** Maximum number of results per account. The oldest is dropped. */
const maxKept = 20;
const keptMs = 3_600_000;
/** Maximum duration of a backtest. */
const maxMs = 1_800_000;

export function makeBacktestJobs(runner: BacktestRunner, clock: Clock): BacktestJobs {
  const kept = new Map<string, KeptBacktest>();
  const isRunning = ({ status }: KeptBacktest): boolean => status === "running";
  const ofAccount = (accountId: string): KeptBacktest[] =>
    [...kept.values()].filter((one) => one.accountId === accountId);
  const end = (backtest: KeptBacktest, status: BacktestStatus, error?: string): void => {
    if (!isRunning(backtest)) return;
    backtest.status = status;
    backtest.error = error;
    backtest.stop();
  };
  const expire = (): void => {
    const now = clock.now();
    for (const one of kept.values()) {
      if (!isRunning(one) && now - one.createdAt > keptMs) kept.delete(one.id);
      else if (now - one.createdAt > maxMs) end(one, "failed", `it did not finish within ${maxMs / 60_000} minutes`);
    }
  };
  const take = (backtest: KeptBacktest, news: BacktestNews): void => {
    if (!isRunning(backtest)) return;
    if (news.type === "failed") return end(backtest, "failed", news.message);
    backtest.report = news.report;
    if (news.type === "done") end(backtest, "completed");
  };
  return {
    start(keyId, job) {
      expire();
      const { accountId, revision, since, until } = job;
      const own = ofAccount(accountId);
      if (own.filter(isRunning).length >= maxRunningOfAccount) {
        throw new Refusal("work_limit", `start a backtest: ${maxRunningOfAccount} of this account are already running`);
      }
      if ([...kept.values()].filter(isRunning).length >= maxRunning) {
        throw new Refusal("work_limit", `start a backtest: ${maxRunning} of this server are already running`);
      }
      for (const old of own.filter((one) => !isRunning(one)).slice(0, Math.max(0, own.length + 1 - maxKept))) {
        kept.delete(old.id);
      }
      const createdAt = clock.now();
      const backtest: KeptBacktest = {
        id: newId("bkt", createdAt),
        accountId,
        keyId,
        createdAt,
        job: { revision, since, until },
        changeCount: job.changes.length,
        status: "running",
        error: undefined,
        report: undefined,
        stop() {},
      };
      kept.set(backtest.id, backtest);
      const running = runner.start(job, (news) => take(backtest, news));
      backtest.stop = () => running.stop();
      return backtest;
    },
    find(accountId, id) {
      expire();
      const found = kept.get(id);
      return found?.accountId === accountId ? found : undefined;
    },
    cancel: (backtest) => end(backtest, "cancelled"),
  };
}
