/**
 * `postern chaos` on a cluster. With POSTERN_CHAOS_ROUNDS, it stops each of three nodes that often. The report
 * is in the test's output.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startChaosCluster } from "../support/chaos-cluster.ts";
import { startCommand } from "../support/command.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const rounds = process.env["POSTERN_CHAOS_ROUNDS"];

interface Report {
  readonly failures: number;
  readonly faults: { readonly stop: number };
  readonly kinds: readonly { readonly kind: string; readonly requests: number; readonly connections: number }[];
  readonly first_failures: readonly unknown[];
}

describe("postern chaos", { skip: skipWithoutPostgres || skipWithout("haproxy") }, () => {
  for (const [agents, connections] of [
    ["two agents", [2, 2]],
    ["an agent whose only session is at one node", [1]],
  ] as const) {
    const skip = connections.length === 1 && process.env["POSTERN_TEST_NODES"] === undefined && rounds === undefined;
    it(
      `S5: postern chaos stops each node in turn, and no request of any kind to ${agents} fails`,
      { timeout: 3_600_000, skip },
      async (test) => {
        const place = await (postgres as NonNullable<typeof postgres>).create();
        test.after(() => place.drop());
        const cluster = await startChaosCluster(place.url, connections);
        test.after(() => cluster.stop());
        const { code, stdout, stderr } = await cluster.chaos(
          "--json",
          `--rounds=${rounds ?? 1}`,
          "--down=0",
          "--settle=3",
        );
        const report = JSON.parse(stdout) as Report;
        test.diagnostic(JSON.stringify(report));
        assert.deepEqual(report.first_failures, [], stderr);
        assert.deepEqual([code, report.failures, report.faults.stop], [0, 0, 3 * Number(rounds ?? 1)]);
        assert.equal(report.kinds.length, 8);
        for (const { kind, requests, connections } of report.kinds) assert.ok(requests > 3 && connections > 3, kind);
      },
    );
  }

  for (const [what, args, message] of [
    ["without a fault", ["--node", "a=http://127.0.0.1:1/readyz"], /nothing to do/],
    ["without a node", ["--stop", "true", "--start", "true"], /--node NAME=URL/],
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
