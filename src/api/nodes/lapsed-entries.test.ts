import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { LapsedEntries } from "./lapsed-entries.ts";

/** The lapsed entries of an edge with one tunnel. */
function start(isAway: boolean) {
  const clock = makeManualClock();
  const dropped: string[] = [];
  let isThere = true;
  let questions = 0;
  const lapsed = new LapsedEntries({
    isThere: async () => {
      questions += 1;
      return isThere;
    },
    drop: (ids) => dropped.push(...ids),
    clock,
  });
  lapsed.add("tn_1", "ed_1");
  if (isAway) lapsed.add("ed_1", "ed_1");
  return {
    lapsed,
    dropped,
    clock,
    questions: () => questions,
    answers: (does: boolean) => void (isThere = does),
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        clock.pass(1_000);
        await turn();
      }
    },
  };
}

describe("lapsed entries of another node", () => {
  it("lapsed entries of another node stay while its edge answers, and end after two questions without an answer", async () => {
    const { lapsed, dropped, answers, pass, clock } = start(true);
    await pass(60);
    assert.deepEqual([dropped, lapsed.isAway("ed_1"), lapsed.has("tn_1", "ed_1")], [[], true, true]);
    answers(false);
    await pass(1);
    answers(true);
    await pass(10);
    assert.deepEqual(dropped, []);
    answers(false);
    await pass(3);
    assert.deepEqual(dropped, ["tn_1", "ed_1"]);
    assert.equal(clock.pending, 0);
  });

  it("lapsed entries of another node end after 15 minutes, although its edge answers", async () => {
    const { dropped, pass } = start(true);
    await pass(890);
    assert.deepEqual(dropped, []);
    await pass(10);
    assert.deepEqual(dropped, ["tn_1", "ed_1"]);
  });

  it("lapsed entries of another node that it has not written 10 s after its return end, without questions", async () => {
    const { lapsed, dropped, pass, questions } = start(true);
    lapsed.add("tn_2", "ed_1");
    await pass(5);
    lapsed.delete("ed_1", "ed_1");
    lapsed.delete("tn_2", "ed_1");
    const asked = questions();
    await pass(9);
    assert.deepEqual(dropped, []);
    await pass(2);
    assert.deepEqual(dropped, ["tn_1"]);
    assert.equal(questions(), asked);
  });

  it("lapsed entries of another node that are in the database again or have left with their edge do not end", async () => {
    for (const leaves of [true, false]) {
      const { lapsed, dropped, pass, clock } = start(false);
      if (leaves) lapsed.leave("ed_1");
      else lapsed.delete("tn_1", "ed_1");
      await pass(20);
      assert.deepEqual(dropped, []);
      assert.equal(clock.pending, 0);
    }
  });
});
