/** The backtests of this node, and with several nodes those of all: running ones, and results for a while. */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import type { BacktestJob, BacktestNews, BacktestReport, BacktestRunner } from "../../routing/planes/backtests.ts";
import type { RecordingNode } from "../../routing/planes/captured-blocks.ts";
import type { AgentEndpoint } from "../../routing/planes/edge-questions.ts";
import type { SharedResult, SharedResults } from "../../storage/cluster/shared-results.ts";
import type { ChangedNames } from "./changed-names.ts";

export type BacktestStatus = "running" | "completed" | "failed" | "cancelled";

/** A backtest as clients see it: plain data. */
export interface BacktestState {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: number;
  readonly job: Pick<BacktestJob, "revision" | "since" | "until">;
  readonly changeCount: number;
  /** Of the changed objects. */
  readonly names: ChangedNames;
  readonly status: BacktestStatus;
  /** Why it failed. */
  readonly error: string | undefined;
  readonly report: BacktestReport | undefined;
}

export interface BacktestJobs {
  /** @throws Refusal `work_limit` if the account or the server already runs its maximum */
  start(job: Omit<BacktestJob, "endpoints">, names: ChangedNames): Promise<BacktestState>;
  /** Finds the backtest at whatever node it runs. Rejects with the database's error. */
  find(accountId: string, id: string): Promise<BacktestState | undefined>;
  /** Cancels the backtest at whatever node it runs. */
  cancel(accountId: string, id: string): Promise<BacktestState | undefined>;
}

export interface BacktestJobsOptions {
  readonly runner: BacktestRunner;
  /** The other nodes at the moment. */
  readonly others: () => readonly RecordingNode[];
  /** Returns the endpoints that agents of the account publish. */
  readonly endpoints: (accountId: string) => Promise<readonly AgentEndpoint[]>;
  /** Where other nodes find the results. Undefined for a server without a cluster. */
  readonly shared: SharedResults | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Job {
  state: BacktestState;
  stop(): void;
  /** Shares the state with the other nodes. Resolves when they can read it. */
  share(): Promise<void>;
}

const maxRunning = 4;
const maxRunningOfAccount = 2;
/** Maximum number of results per account. The oldest is dropped. */
const maxKept = 20;
/** How long results are available, milliseconds. */
export const keptMs = 3_600_000;
/** Maximum duration of a backtest. */
const maxMs = 1_800_000;
/** Interval at which other nodes get the results so far. */
const shareEveryMs = 1_000;
/** A running backtest without news for this time is lost with its node. */
const lostMs = 15_000;

export function makeBacktestJobs({ runner, others, endpoints, shared, clock, log }: BacktestJobsOptions): BacktestJobs {
  const kept = new Map<string, Job>();
  const ofAccount = (accountId: string): Job[] =>
    [...kept.values()].filter(({ state }) => state.accountId === accountId);
  const end = (job: Job, status: BacktestStatus, error?: string): void => {
    if (!isRunning(job)) return;
    job.state = { ...job.state, status, error };
    job.stop();
    runUnattended("task", job.share());
  };
  const expire = (): void => {
    const now = clock.now();
    for (const job of kept.values()) {
      const { id, createdAt } = job.state;
      if (!isRunning(job) && now - createdAt > keptMs) kept.delete(id);
      else if (now - createdAt > maxMs) end(job, "failed", `it did not finish within ${maxMs / 60_000} minutes`);
    }
  };
  const take = (job: Job, news: BacktestNews): void => {
    if (!isRunning(job)) return;
    if (news.type === "failed") return end(job, "failed", news.message);
    job.state = { ...job.state, report: news.report };
    if (news.type === "done") end(job, "completed");
  };
  const jobOf = (state: BacktestState): Job => {
    const job: Job = {
      state,
      stop() {},
      async share() {
        try {
          const { accountId, id } = job.state;
          const isCancelled = await shared?.put(accountId, id, JSON.stringify(job.state));
          if (isCancelled === true) end(job, "cancelled");
        } catch (error) {
          log.warn("results of a backtest not shared with other nodes", { backtest: state.id, error });
        }
      },
    };
    return job;
  };
  const find = async (accountId: string, id: string): Promise<BacktestState | undefined> => {
    expire();
    const own = kept.get(id)?.state;
    if (own !== undefined) return own.accountId === accountId ? own : undefined;
    const found = await shared?.find(accountId, id);
    return found && stateElsewhere(found);
  };
  return {
    async start(given, names) {
      expire();
      const { accountId, revision, since, until, changes } = given;
      const own = ofAccount(accountId);
      checkLimits([...kept.values()], own);
      for (const old of own.filter((one) => !isRunning(one)).slice(0, Math.max(0, own.length + 1 - maxKept))) {
        kept.delete(old.state.id);
      }
      const createdAt = clock.now();
      const job = jobOf({
        id: newId("bkt", createdAt),
        accountId,
        createdAt,
        job: { revision, since, until },
        changeCount: changes.length,
        names,
        status: "running",
        error: undefined,
        report: undefined,
      });
      kept.set(job.state.id, job);
      const published = await endpoints(accountId).catch((error: unknown) => {
        kept.delete(job.state.id);
        throw error;
      });
      if (!isRunning(job)) return job.state;
      const timer: Timer | undefined = shared && clock.every(shareEveryMs, () => runUnattended("task", job.share()));
      const running = runner.start({ ...given, endpoints: published }, others(), (news) => take(job, news));
      job.stop = () => {
        timer?.cancel();
        running.stop();
      };
      await job.share();
      return job.state;
    },
    find,
    async cancel(accountId, id) {
      const own = kept.get(id);
      if (own?.state.accountId === accountId) {
        end(own, "cancelled");
        return own.state;
      }
      const state = await find(accountId, id);
      if (state?.status !== "running") return state;
      await shared?.cancel(accountId, id);
      return { ...state, status: "cancelled" };
    },
  };
}

function isRunning({ state: { status } }: Pick<Job, "state">): boolean {
  return status === "running";
}

function checkLimits(all: readonly Job[], accountJobs: readonly Job[]): void {
  if (accountJobs.filter(isRunning).length >= maxRunningOfAccount) {
    throw new Refusal("work_limit", `start a backtest: ${maxRunningOfAccount} of this account are already running`);
  }
  if (all.filter(isRunning).length >= maxRunning) {
    throw new Refusal("work_limit", `start a backtest: ${maxRunning} of this server are already running`);
  }
}

/** Returns the state of a backtest that another node has shared. */
function stateElsewhere({ body, ageMs }: SharedResult): BacktestState {
  const state = JSON.parse(body) as BacktestState;
  if (state.status !== "running" || ageMs < lostMs) return state;
  return { ...state, status: "failed", error: "the node that ran it stopped responding; start it again" };
}
