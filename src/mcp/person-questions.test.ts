import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { makeManualClock } from "../../test/support/clock.ts";
import type { Notes } from "./parts/kept-plans.ts";
import { makeQuestions } from "./person-questions.ts";

const accept = { action: "accept", content: { confirm: true } };

function twoNodes() {
  const clock = makeManualClock();
  const stored = new Map<string, string>();
  const faults = { left: 0 };
  const notes: Notes = {
    put: async (owner, id, text) => void stored.set(`${owner} ${id}`, text),
    async find(owner, id) {
      if (faults.left-- > 0) throw new Error("the database does not respond");
      return stored.get(`${owner} ${id}`);
    },
  };
  const asking = makeQuestions(clock, notes);
  const question = asking.ask("key a", "Make the change?");
  assert.ok(question);
  const ended: boolean[] = [];
  void question.answer.then((agreed) => ended.push(agreed));
  const pass = async (milliseconds: number): Promise<readonly boolean[]> => {
    clock.pass(milliseconds);
    await turn();
    return ended;
  };
  return { clock, stored, faults, asking, elsewhere: makeQuestions(clock, notes), id: question.message["id"], pass };
}

describe("questions of a node among others", () => {
  it("M5: an answer that arrives at another node counts, and only from the key that was asked", async () => {
    const { clock, elsewhere, id, pass } = twoNodes();
    await elsewhere.answered("key b", { id, result: accept });
    assert.deepEqual(await pass(5_000), []);
    await elsewhere.answered("key a", { id, result: accept });
    assert.deepEqual(await pass(500), [true]);
    assert.equal(clock.pending, 0);
  });

  it("M5: anything but an agreement is a no, and no answer in two minutes likewise", async () => {
    for (const result of [{ action: "decline" }, { action: "accept", content: { confirm: "true" } }, undefined]) {
      const { elsewhere, id, pass } = twoNodes();
      await elsewhere.answered("key a", { id, result });
      assert.deepEqual(await pass(500), [false]);
    }
    const { clock, pass } = twoNodes();
    assert.deepEqual(await pass(119_999), []);
    assert.deepEqual(await pass(1), [false]);
    assert.equal(clock.pending, 0);
  });

  it("M5: an answer is found after the database was away, and other texts are not stored", async () => {
    const { elsewhere, asking, id, stored, faults, pass } = twoNodes();
    await asking.answered("key b", { id, result: accept });
    for (const other of ["x", `confirm-${"x".repeat(200)}`, 7]) {
      await elsewhere.answered("key a", { id: other, result: accept });
    }
    assert.equal(stored.size, 0);
    faults.left = 2;
    await elsewhere.answered("key a", { id, result: accept });
    assert.deepEqual(await pass(500), []);
    await pass(500);
    assert.deepEqual(await pass(500), [true]);
  });
});
