import assert from "node:assert/strict";
import { it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { Moments } from "./moments.ts";

it("a moment is the same object for a whole turn, and another one in the next turn", async () => {
  const clock = makeManualClock();
  const moments = new Moments(clock);
  const first = moments.present;
  const { now, monotonic } = first;
  clock.pass(5);
  assert.equal(moments.present, first);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(moments.present, { now: now + 5, monotonic: monotonic + 5 });
});
