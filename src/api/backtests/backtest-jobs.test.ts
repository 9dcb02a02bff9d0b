import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { BacktestJob, BacktestNews } from "../../routing/planes/backtests.ts";
import type { SharedResults } from "../../storage/cluster/shared-results.ts";
import { makeBacktestJobs } from "./backtest-jobs.ts";
import { noResults } from "./backtest-view.ts";

const job: Omit<BacktestJob, "endpoints"> = {
  accountId: "ac_1",
  revision: 1,
  objects: [],
  changes: [],
  since: 0,
  until: 1,
  filter: {},
};

/** Two nodes with one table of results. */
function twoNodes() {
  const clock = makeManualClock();
  const rows = new Map<string, { body: string; at: number; isCancelled: boolean }>();
  const shared: SharedResults = {
    put(accountId, id, body) {
      const key = `${accountId} ${id}`;
      const isCancelled = rows.get(key)?.isCancelled ?? false;
      rows.set(key, { body, at: clock.now(), isCancelled });
      return Promise.resolve(isCancelled);
    },
    find(accountId, id) {
      const row = rows.get(`${accountId} ${id}`);
      return Promise.resolve(row && { body: row.body, ageMs: clock.now() - row.at });
    },
    cancel(accountId, id) {
      const row = rows.get(`${accountId} ${id}`);
      if (row) row.isCancelled = true;
      return Promise.resolve();
    },
  };
  let tell: (news: BacktestNews) => void = () => {};
  let stopped = 0;
  const node = () =>
    makeBacktestJobs({
      runner: {
        start(_job, _others, told) {
          tell = told;
          return { stop: () => void (stopped += 1) };
        },
      },
      others: () => [],
      endpoints: () => Promise.resolve([]),
      shared,
      clock,
      log: silentLog,
    });
  return { clock, first: node(), second: node(), tell: (news: BacktestNews) => tell(news), stopped: () => stopped };
}

describe("backtests of several nodes", () => {
  it("a backtest shows its results so far at another node, and its result at the end", async () => {
    const { clock, first, second, tell } = twoNodes();
    const { id } = await first.start(job, {});
    tell({ type: "progress", report: { ...noResults, tried: 7 } });
    clock.pass(1_000);
    await new Promise(setImmediate);
    assert.equal((await second.find("ac_1", id))?.report?.tried, 7);
    tell({ type: "done", report: { ...noResults, tried: 9 } });
    const found = await second.find("ac_1", id);
    assert.deepEqual([found?.status, found?.report?.tried], ["completed", 9]);
  });

  it("P1: a backtest is hidden from other accounts at every node", async () => {
    const { first, second } = twoNodes();
    const { id } = await first.start(job, {});
    for (const node of [first, second]) {
      assert.equal(await node.find("ac_2", id), undefined);
      assert.equal(await node.cancel("ac_2", id), undefined);
      assert.equal((await node.find("ac_1", id))?.status, "running");
    }
  });

  it("a backtest is cancelled from another node", async () => {
    const { clock, first, second, stopped } = twoNodes();
    const { id } = await first.start(job, {});
    assert.equal((await second.cancel("ac_1", id))?.status, "cancelled");
    clock.pass(1_000);
    await new Promise(setImmediate);
    assert.equal((await first.find("ac_1", id))?.status, "cancelled");
    assert.equal((await second.find("ac_1", id))?.status, "cancelled");
    assert.equal(stopped(), 1);
  });

  it("a backtest fails at other nodes when its node stops responding", async () => {
    const { clock, first, second } = twoNodes();
    const { id } = await first.start(job, {});
    const stopping = second.find("ac_1", id);
    assert.equal((await stopping)?.status, "running");
    clock.step(20_000);
    const found = await second.find("ac_1", id);
    assert.equal(found?.status, "failed");
    assert.match(found?.error ?? "", /stopped responding; start it again/);
  });
});
