import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import type { Timer } from "./clock.ts";
import { Deadlines } from "./deadlines.ts";
import type { Timed } from "./deadlines.ts";

describe("deadlines", () => {
  it("deadlines that have passed are reported at each tick until they are moved or cancelled", () => {
    const clock = makeManualClock(0);
    const deadlines = new Deadlines(clock, 500);
    let told = 0;
    const timed: Timed = { expiresAt: deadlines.now + 700, expired: () => void (told += 1) };
    const watch = deadlines.add(timed);
    clock.pass(500);
    assert.equal(told, 0);
    clock.pass(500);
    clock.pass(500);
    assert.equal(told, 2);
    timed.expiresAt = Infinity;
    clock.pass(500);
    timed.expiresAt = 0;
    watch.cancel();
    watch.cancel();
    clock.pass(500);
    assert.equal(told, 2);
    deadlines.stop();
  });

  it("deadlines that pass together are all reported, even if some remove themselves or others", () => {
    const clock = makeManualClock(0);
    for (let leaving = 0; leaving < 6; leaving += 1) {
      for (let taken = 0; taken < 6; taken += 1) {
        const deadlines = new Deadlines(clock, 500);
        const told = new Set<number>();
        const watches: Timer[] = [];
        for (let index = 0; index < 6; index += 1) {
          const expired = (): void => {
            told.add(index);
            watches[index]?.cancel();
            if (index === leaving) watches[taken]?.cancel();
          };
          watches.push(deadlines.add({ expiresAt: 0, expired }));
        }
        clock.pass(500);
        const missed = told.has(taken) ? [] : [taken];
        assert.deepEqual(
          [...told, ...missed].sort((one, other) => one - other),
          [0, 1, 2, 3, 4, 5],
          `${leaving} takes ${taken} along`,
        );
        deadlines.stop();
      }
    }
  });

  it("deadlines run delayed calls once, unless they were cancelled or all are stopped", () => {
    const clock = makeManualClock(0);
    const deadlines = new Deadlines(clock, 500);
    const ran: string[] = [];
    deadlines.after(400, () => ran.push("first"));
    deadlines.after(400, () => ran.push("cancelled")).cancel();
    deadlines.after(1_400, () => ran.push("later"));
    deadlines.after(2_400, () => ran.push("stopped"));
    clock.pass(1000);
    assert.deepEqual(ran, ["first"]);
    clock.pass(1000);
    assert.deepEqual(ran, ["first", "later"]);
    deadlines.stop();
    clock.pass(1000);
    assert.deepEqual(ran, ["first", "later"]);
  });
});
