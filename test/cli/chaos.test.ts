/**
 * `postern chaos` on a cluster. With POSTERN_CHAOS_ROUNDS, it stops, kills, pauses and cuts off each of three nodes that
 * often. `npm run test:nodes` does it once. The report is in the test's output.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startChaosCluster } from "../support/chaos-cluster.ts";
import { startCommand } from "../support/command.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";

const rounds = process.env["POSTERN_CHAOS_ROUNDS"];
/** Whether the tests run that take minutes. */
const isLong = rounds !== undefined || process.env["POSTERN_TEST_NODES"] !== undefined;

interface Report {
  readonly failures: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly kinds: readonly {
    readonly kind: string;
    readonly requests: number;
    readonly connections: number;
    readonly longest_gap_ms: number;
  }[];
  readonly writes: { readonly acknowledged: number; readonly lost: number };
  readonly first_failures: readonly unknown[];
}

describe("postern chaos", { skip: skipWithoutPostgres || skipWithout("haproxy") }, () => {
  for (const [agents, connections] of [
    ["two agents", [2, 2]],
    ...(isLong ? [["an agent whose only session is at one node", [1]] as const] : []),
  ] as const) {
    it(
      `S5: postern chaos stops each node in turn, and no request of any kind to ${agents} fails`,
      { timeout: 3_600_000 },
      async (test) => {
        const cluster = await startChaosCluster(connections);
        test.after(() => cluster.stop());
        const { code, stdout, stderr } = await cluster.chaos(
          ["stop"],
          "--json",
          `--rounds=${rounds ?? 1}`,
          "--down=0",
          "--settle=3",
        );
        const report = JSON.parse(stdout) as Report;
        test.diagnostic(JSON.stringify(report));
        assert.deepEqual(report.first_failures, [], stderr);
        assert.deepEqual([code, report.failures, report.faults], [0, 0, { stop: 3 * Number(rounds ?? 1) }]);
        assert.equal(report.writes.lost, 0);
        assert.ok(report.writes.acknowledged > 0);
        assert.equal(report.kinds.length, 8);
        for (const { kind, requests, connections } of report.kinds) assert.ok(requests > 3 && connections > 3, kind);
      },
    );
  }

  const longFaults = [
    [["kill", "pause"], 8],
    [["cut"], 12],
  ] as const;
  for (const [faults, downSeconds] of isLong ? longFaults : []) {
    it(
      `S5: postern chaos: after ${faults.join(" and ")} of each node in turn, no confirmed write is lost, and visitors are served`,
      { timeout: 3_600_000 },
      async (test) => {
        const cluster = await startChaosCluster([2, 2]);
        test.after(() => cluster.stop());
        const times = [`--down=${downSeconds}`, "--settle=6", `--rounds=${rounds ?? 1}`];
        const { stdout, stderr } = await cluster.chaos(faults, "--json", ...times);
        assert.notEqual(stdout, "", stderr);
        const report = JSON.parse(stdout) as Report;
        test.diagnostic(JSON.stringify(report));
        assert.equal(report.writes.lost, 0);
        assert.ok(report.writes.acknowledged > 0);
        if (faults[0] !== "cut") return;
        // Without the promised detours, these visitors wait until the end of the cut. A POST in progress may wait.
        for (const { kind, longest_gap_ms: gap } of report.kinds) {
          if (kind.endsWith("GET")) assert.ok(gap < 10_000, `${kind}: ${gap} ms`);
        }
      },
    );
  }

  for (const [what, args, message] of [
    ["without a fault", ["--node", "a=http://127.0.0.1:1/readyz"], /nothing to do/],
    ["without a node", ["--stop", "true", "--start", "true"], /--node NAME=URL/],
    ["without the end of a cut", ["--cut", "peers=true"], /--cut peers=… needs --heal peers=COMMAND/],
    [
      "with a node that is not ready",
      ["--node", "a=http://127.0.0.1:1/", "--stop", "true", "--start", "true"],
      /a is not ready/,
    ],
  ] as const) {
    it(`postern chaos ${what} stops nothing and explains why`, async () => {
      const { code, stderr } = await startCommand(["chaos", "https://shop.example.com/", ...args]).finished;
      assert.notEqual(code, 0);
      assert.match(stderr, message);
    });
  }
});
