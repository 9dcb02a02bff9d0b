import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { Searches } from "./searches.ts";

describe("searches of captured requests", () => {
  it("searches of captured requests run one at a time for each account, and independently of other accounts", async () => {
    const searches = new Searches(makeManualClock(), 8_000);
    const first = Promise.withResolvers<string>();
    const begun: string[] = [];
    const search = (name: string, result: Promise<string> | string) => async () => {
      begun.push(name);
      return await result;
    };
    const one = searches.run("ac_1", search("one", first.promise));
    const two = searches.run("ac_1", search("two", "second"));
    assert.equal(await searches.run("ac_2", search("other", "other")), "other");
    assert.deepEqual(begun, ["one", "other"]);
    first.reject(new Error("the disk failed"));
    await assert.rejects(one, /the disk failed/);
    assert.equal(await two, "second");
  });

  it("searches of captured requests are over when their caller has given up, and few of an account wait", async () => {
    const clock = makeManualClock();
    const searches = new Searches(clock, 8_000);
    const first = Promise.withResolvers<undefined>();
    const one = searches.run("ac_1", () => first.promise);
    const waiting = Array.from({ length: 15 }, () => searches.run("ac_1", (isOver) => Promise.resolve(isOver())));
    await assert.rejects(
      searches.run("ac_1", () => Promise.resolve(true)),
      /too many searches/,
    );
    clock.pass(8_000);
    first.resolve(undefined);
    await one;
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([true]));
    assert.equal(await searches.run("ac_1", (isOver) => Promise.resolve(isOver())), false);
  });
});
