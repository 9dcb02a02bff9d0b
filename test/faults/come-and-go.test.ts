/**
 * Nodes that come and go, and an agent with several addresses. With POSTERN_COME_AND_GO_ROUNDS, a node comes and goes
 * every 20 seconds that often: 15 rounds take ten minutes.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { comeAndGo } from "../support/come-and-go.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const rounds = process.env["POSTERN_COME_AND_GO_ROUNDS"];

describe("nodes that come and go", { skip: skipWithoutPostgres, timeout: 3_600_000 }, () => {
  it("nodes that come and go get a session of each agent with several addresses within 10 seconds after each arrival", async (test) => {
    const took = await comeAndGo(Number(rounds ?? 2), rounds === undefined ? 1 : 20);
    test.diagnostic(JSON.stringify(took.map(Math.round)));
    assert.equal(took.length, Number(rounds ?? 2));
    for (const ms of took) assert.ok(ms < 10_000, `${Math.round(ms)} ms`);
  });
});
