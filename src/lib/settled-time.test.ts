import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { makeSettledTime } from "./settled-time.ts";
import { dayMs, hourMs } from "./durations.ts";

describe("settled time", () => {
  for (const days of [400, -400]) {
    it(`settled time does not follow a clock that is wrong by ${days} days for an hour`, () => {
      const clock = makeManualClock(1_000 * dayMs);
      const time = makeSettledTime(clock);
      clock.step(days * dayMs);
      for (let minute = 0; minute < 60; minute += 1) {
        clock.pass(60_000);
        assert.equal(time.now(), 1_000 * dayMs + (minute + 1) * 60_000);
      }
      clock.step(-days * dayMs);
      clock.pass(10 * hourMs);
      assert.equal(time.now(), clock.now());
      assert.equal(time.jumps, 0);
    });
  }

  it("settled time follows a clock that keeps its new time for two hours", () => {
    const clock = makeManualClock(1_000 * dayMs);
    const time = makeSettledTime(clock);
    clock.step(dayMs);
    assert.notEqual(time.now(), clock.now());
    clock.pass(2 * hourMs);
    assert.equal(time.now(), clock.now());
    assert.equal(time.jumps, 1);
  });

  it("settled time follows small adjustments immediately", () => {
    const clock = makeManualClock(1_000 * dayMs);
    const time = makeSettledTime(clock);
    clock.step(-60_000);
    assert.equal(time.now(), clock.now());
  });

  it("settled time after a start continues from the last known time for two hours if the clock is over a day later", () => {
    for (const [wrongMs, wanted] of [
      [400 * dayMs, 0],
      [-400 * dayMs, -400 * dayMs],
      [hourMs, hourMs],
    ] as const) {
      const clock = makeManualClock(1_000 * dayMs + wrongMs);
      const time = makeSettledTime(clock, 1_000 * dayMs);
      assert.equal(time.now(), 1_000 * dayMs + wanted);
      clock.pass(2 * hourMs);
      assert.equal(time.now(), clock.now());
    }
  });
});
