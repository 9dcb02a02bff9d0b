import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { SharedTimers } from "./shared-timers.ts";

describe("shared timers", () => {
  it("shared timers are called together, never early and at most one step late", () => {
    const clock = makeManualClock();
    const timers = new SharedTimers(clock, 250);
    const start = clock.monotonic();
    const late: number[] = [];
    for (const delayMs of [10_000, 10_010, 10_130, 10_249]) {
      timers.after(delayMs, () => late.push(clock.monotonic() - start - delayMs));
    }
    assert.ok(clock.pending <= 2, "one for each step");
    clock.pass(11_000);
    assert.equal(late.length, 4);
    for (const ms of late) assert.ok(ms >= 0 && ms <= 252, `late by ${ms} ms`);
    assert.equal(clock.pending, 0);
  });

  it("a shared timer is not called after cancellation, even by a timer that is due at the same time", () => {
    const clock = makeManualClock();
    const timers = new SharedTimers(clock, 250);
    const called: string[] = [];
    timers.after(100, () => {
      called.push("first");
      second.cancel();
      again = timers.after(100, () => called.push("again"));
    });
    const second = timers.after(100, () => called.push("second"));
    let again = timers.after(400, () => called.push("third"));
    again.cancel();
    clock.pass(300);
    assert.deepEqual(called, ["first"]);
    clock.pass(500);
    assert.deepEqual(called, ["first", "again"]);
    timers.after(100, () => called.push("last")).cancel();
    assert.equal(clock.pending, 0, "none is left for a step that nobody waits for");
  });
});
