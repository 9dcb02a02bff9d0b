import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { ReceiveWindow, WindowBudget, WindowReserve } from "./receive-window.ts";

const initialWindow = 256 * 1024;
const mebibyte = 1024 * 1024;

/** A consumer that takes everything immediately, a window per `perWindowMs`. Returns the final size of the window. */
function use(
  budget: WindowBudget,
  clock: { pass(ms: number): void },
  rounds: number,
  perWindowMs: number,
  window = new ReceiveWindow(budget),
): number {
  let size = initialWindow;
  for (let round = 0; round < rounds * 4; round += 1) {
    clock.pass(perWindowMs / 4);
    const part = size / 4;
    assert.ok(window.arrive(part));
    size += window.consumed(part) - part;
  }
  return size;
}

describe("a receive window", () => {
  it("a receive window returns credit in quarters, and only for consumed bytes", () => {
    const window = new ReceiveWindow(new WindowBudget(makeManualClock(), initialWindow));
    assert.ok(window.arrive(100_000));
    assert.equal(window.consumed(65_535), 0);
    assert.equal(window.consumed(1), 65_536);
    assert.equal(window.consumed(34_464), 0);
  });

  it("a receive window rejects more bytes than there is credit for", () => {
    const window = new ReceiveWindow(new WindowBudget(makeManualClock(), initialWindow));
    assert.ok(window.arrive(initialWindow));
    assert.equal(window.arrive(1), false);
  });

  it("a receive window does not change unless the peer agreed to more", () => {
    const clock = makeManualClock();
    assert.equal(use(new WindowBudget(clock, initialWindow), clock, 50, 1), initialWindow);
  });

  it("a receive window grows to the maximum if the round trip is the limit", () => {
    const clock = makeManualClock();
    const budget = new WindowBudget(clock, initialWindow);
    budget.allow(16 * mebibyte, new WindowReserve(64 * mebibyte));
    budget.roundTripMs = 50;
    assert.equal(use(budget, clock, 12, 50), 16 * mebibyte);
  });

  it("a receive window does not grow for a slower consumer", () => {
    const clock = makeManualClock();
    const budget = new WindowBudget(clock, initialWindow);
    budget.allow(16 * mebibyte, new WindowReserve(64 * mebibyte));
    budget.roundTripMs = 50;
    assert.equal(use(budget, clock, 50, 500), initialWindow);
  });

  it("a receive window without a round trip grows only as far as a turn of the loop needs", () => {
    const clock = makeManualClock();
    const budget = new WindowBudget(clock, initialWindow);
    budget.allow(16 * mebibyte, new WindowReserve(64 * mebibyte));
    budget.roundTripMs = 0.1;
    assert.equal(use(budget, clock, 50, 1), mebibyte);
  });

  it("D3: a receive window stays within its session's budget, and returns its share", () => {
    const clock = makeManualClock();
    const budget = new WindowBudget(clock, initialWindow);
    budget.allow(16 * mebibyte, new WindowReserve(2 * mebibyte));
    budget.roundTripMs = 50;
    const windows = [new ReceiveWindow(budget), new ReceiveWindow(budget)];
    const sizes = windows.map((window) => use(budget, clock, 12, 50, window));
    const grown = sizes.reduce((sum, size) => sum + size - initialWindow, 0);
    assert.ok(grown > mebibyte && grown <= 2 * mebibyte, `${grown}`);
    for (const window of windows) window.close();
    assert.ok(budget.take(2 * mebibyte));
    assert.equal(budget.take(1), false);
  });
});
