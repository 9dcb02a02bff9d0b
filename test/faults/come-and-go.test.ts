/** Nodes that come and go, and an agent with several addresses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { comeAndGo } from "../support/come-and-go.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

describe("nodes that come and go", { skip: skipWithoutPostgres, timeout: 120_000 }, () => {
  it("nodes that come and go get a session of each agent with several addresses after each arrival", async () => {
    const took = await comeAndGo(2, 1);
    assert.equal(took.length, 2);
  });
});
