import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { makeShares } from "./shares.ts";

describe("shares of long requests", () => {
  it("D9: shares are limited for each key, and free again when a request ends or fails", async () => {
    const shares = makeShares(2);
    const open = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const taken = open.map(({ promise }) => shares.take("key", () => promise));
    await assert.rejects(
      shares.take("key", () => "third"),
      (error: unknown) => error instanceof Refusal && error.reason === "work_limit",
    );
    assert.equal(await shares.take("another", () => "other"), "other");
    open[0]?.resolve("done");
    assert.equal(await taken[0], "done");
    assert.equal(await shares.take("key", () => "now"), "now");
    open[1]?.reject(new Error("failed"));
    await assert.rejects(taken[1] as Promise<string>, /failed/);
    assert.deepEqual(await Promise.all(["a", "b"].map((one) => shares.take("key", () => one))), ["a", "b"]);
  });
});
