import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { WindowPool } from "../language/window-pool.ts";
import { makeSlidingWindow, retryAfterSeconds } from "./sliding-window.ts";
import type { SlidingWindowOptions } from "./sliding-window.ts";

const second = 1000;

function makeLimit(
  capacity: number,
  windowMs: number,
  bounds: Partial<Pick<SlidingWindowOptions, "maxBuckets" | "maxSlots" | "pool">> = {},
  clock = makeManualClock(),
) {
  return { clock, limit: makeSlidingWindow({ capacity, windowMs, monotonic: clock.monotonic, ...bounds }) };
}

describe("a sliding window", () => {
  it("a sliding window admits its capacity, separately for each key, and returns the waiting time for the next one", () => {
    const { clock, limit } = makeLimit(2, 60 * second);
    assert.equal(limit.take("a"), 0);
    clock.pass(second);
    assert.equal(limit.take("a"), 0);
    clock.pass(second);
    assert.equal(limit.wait("a"), 59 * second);
    assert.equal(limit.take("a"), 59 * second);
    assert.equal(limit.take("b"), 0);
    clock.pass(123 * second);
    assert.equal(limit.take("a"), 0);
  });

  it("a sliding window admits a client that sends exactly at the allowed rate", () => {
    const { clock, limit } = makeLimit(1, 60 * second);
    for (let round = 0; round < 50; round += 1) {
      assert.equal(limit.take("a"), 0);
      assert.equal(limit.take("a"), 60 * second);
      clock.pass(60 * second);
    }
  });

  it("a sliding window does not count rejected requests", () => {
    const { clock, limit } = makeLimit(1, 60 * second);
    limit.take("a");
    for (let round = 0; round < 59; round += 1) {
      clock.pass(second);
      assert.ok(limit.take("a") > 0);
    }
    clock.pass(second);
    assert.equal(limit.take("a"), 0);
  });

  it("a sliding window never admits more than its capacity in any window, nor fewer than it must, at random times", () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (const [capacity, windowMs] of [
      [1, 60 * second],
      [5, 60 * second],
      [40, 70 * second],
      [300, 3600 * second],
      [1000, 86_400 * second],
    ] as const) {
      const { clock, limit } = makeLimit(capacity, windowMs);
      const slotMs = Math.max(10 * second, windowMs / 60);
      const admitted: number[] = [];
      for (let round = 0; round < 4000; round += 1) {
        clock.pass(random(3) === 0 ? random(Math.ceil((2 * windowMs) / capacity)) : random(50));
        const now = clock.monotonic();
        const within = (ms: number): number => admitted.filter((at) => at > now - ms).length;
        if (limit.take("key") === 0) {
          assert.ok(within(windowMs) < capacity, `${capacity} in ${windowMs}`);
          admitted.push(now);
          if (admitted.length > 2 * capacity) admitted.shift();
        } else assert.ok(within(windowMs + slotMs) >= capacity, `${capacity} in ${windowMs}: refused too early`);
      }
    }
  });

  it("a sliding window returns the shortest possible wait: one millisecond earlier rejects, at that time one is admitted", () => {
    const { clock, limit } = makeLimit(3, 60 * second);
    for (const gap of [0, 15, 20]) {
      clock.pass(gap * second);
      assert.equal(limit.take("a"), 0);
    }
    const wait = limit.take("a");
    clock.pass(wait - 1);
    assert.equal(limit.take("a"), 1);
    clock.pass(1);
    assert.equal(limit.take("a"), 0);
  });

  it("a sliding window forgets the least recently used key beyond its limit, and not the busy one", () => {
    const { limit } = makeLimit(1, 60 * second, { maxBuckets: 100 });
    limit.take("busy");
    for (let key = 0; key < 10_000; key += 1) {
      limit.take(`key ${key}`);
      assert.ok(limit.take("busy") > 0);
      assert.ok(limit.size <= 100);
    }
    assert.equal(limit.wait("key 0"), 0);
    assert.ok(limit.wait("key 9999") > 0);
  });

  it("a sliding window limits the slots of all keys together", () => {
    const { clock, limit } = makeLimit(1_000_000, 86_400 * second, { maxBuckets: 100, maxSlots: 300 });
    for (let slot = 0; slot < 50; slot += 1) {
      for (let key = 0; key < 100; key += 1) limit.take(String(key));
      assert.ok(limit.slots <= 300 && limit.slots >= limit.size);
      clock.pass(1440 * second);
    }
    clock.pass(86_400 * second);
    for (let key = 0; key < 100; key += 1) limit.take(String(key));
    assert.equal(limit.slots, limit.size);
  });

  it("sliding windows of a server share a limit: the largest window forgets keys, small ones do not", () => {
    const pool = new WindowPool(1000);
    const clock = makeManualClock();
    const limits = Array.from({ length: 10 }, () => makeLimit(1, 60 * second, { pool }, clock).limit);
    for (const limit of limits) for (let key = 0; key < 20; key += 1) limit.take(String(key));
    const [flooded] = limits;
    for (let key = 0; key < 20_000; key += 1) {
      flooded?.take(`made up ${key}`);
      assert.ok(pool.size <= 1000 && pool.slots <= 4000);
    }
    assert.equal(
      pool.size,
      limits.reduce((sum, limit) => sum + limit.size, 0),
    );
    assert.ok((flooded?.wait("made up 19999") ?? 0) > 0);
    for (const limit of limits.slice(1)) {
      for (let key = 0; key < 20; key += 1) assert.ok(limit.wait(String(key)) > 0, "one of few keys was forgotten");
    }
  });

  it("sliding windows of a server share a limit of slots as well, and always hold at least one key", () => {
    const pool = new WindowPool(10);
    const clock = makeManualClock();
    const long = makeLimit(1_000_000, 86_400 * second, { pool }, clock).limit;
    for (let slot = 0; slot < 60; slot += 1) {
      for (const key of ["a", "b", "c"]) long.take(key);
      assert.ok(pool.slots <= 40);
      clock.pass(1440 * second);
    }
    const many = Array.from({ length: 50 }, () => makeLimit(1, 60 * second, { pool }, clock).limit);
    for (const limit of many) {
      limit.take("a");
      assert.ok(pool.size <= 10);
      assert.ok(limit.wait("a") > 0);
    }
  });

  it("sliding windows of a server are released when they are no longer used", () => {
    const pool = new WindowPool(1000);
    const clock = makeManualClock();
    for (let limit = 0; limit < 50; limit += 1) makeLimit(1, 60 * second, { pool }, clock).limit.take("a");
    assert.equal(pool.size, 50);
    clock.pass(60 * second);
    makeLimit(1, 60 * second, { pool }, clock).limit.take("a");
    assert.equal(pool.size, 1);
  });

  it("a sliding window distinguishes long keys", () => {
    const { limit } = makeLimit(1, 60 * second);
    const long = "x".repeat(100_000);
    assert.equal(limit.take(`${long}1`), 0);
    assert.equal(limit.take(`${long}2`), 0);
    assert.ok(limit.take(`${long}1`) > 0);
  });

  it("a sliding window gives Retry-After in whole seconds, rounded up, never 0", () => {
    assert.deepEqual([0.5, 1000, 1001, 59_000].map(retryAfterSeconds), [1, 1, 2, 59]);
  });
});
