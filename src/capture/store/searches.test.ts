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
    const one = searches.run("ac_1", "ak_1", search("one", first.promise));
    const two = searches.run("ac_1", "ak_1", search("two", "second"));
    assert.equal(await searches.run("ac_2", "ak_1", search("other", "other")), "other");
    assert.deepEqual(begun, ["one", "other"]);
    first.reject(new Error("the disk failed"));
    await assert.rejects(one, /the disk failed/);
    assert.equal(await two, "second");
  });

  it("searches of captured requests are over when their caller has given up, and few of an account wait", async () => {
    const clock = makeManualClock();
    const searches = new Searches(clock, 8_000);
    const first = Promise.withResolvers<undefined>();
    const one = searches.run("ac_1", "ak_0", () => first.promise);
    const waiting = Array.from({ length: 15 }, (_one, at) =>
      searches.run("ac_1", `ak_${at % 5}`, (isOver) => Promise.resolve(isOver())),
    );
    await assert.rejects(
      searches.run("ac_1", "ak_9", () => Promise.resolve(true)),
      /too many searches/,
    );
    clock.pass(8_000);
    first.resolve(undefined);
    await one;
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([true]));
    assert.equal(await searches.run("ac_1", "ak_1", (isOver) => Promise.resolve(isOver())), false);
  });

  it("D9: searches of captured requests of one key leave room for the account's other keys", async () => {
    const searches = new Searches(makeManualClock(), 8_000);
    const first = Promise.withResolvers<string>();
    const ofKey = Array.from({ length: 4 }, () => searches.run("ac_1", "ak_1", () => first.promise));
    await assert.rejects(
      searches.run("ac_1", "ak_1", () => first.promise),
      /too many searches/,
    );
    const other = searches.run("ac_1", "ak_2", () => Promise.resolve("other"));
    first.resolve("found");
    assert.deepEqual(await Promise.all([...ofKey, other]), ["found", "found", "found", "found", "other"]);
  });
});
