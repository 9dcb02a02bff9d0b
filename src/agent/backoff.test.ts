import assert from "node:assert/strict";
import { it } from "node:test";
import { maxPauseMs, pauseMs } from "./backoff.ts";

it("G5: pauses grow from a quarter of a second to 15 seconds", () => {
  const longest = Array.from({ length: 40 }, (_, at) => pauseMs(at + 1, () => 1));
  assert.deepEqual(longest.slice(0, 8), [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  assert.equal(Math.max(...longest), maxPauseMs);
});

it("G5: pauses are spread over half their length", () => {
  assert.equal(
    pauseMs(10, () => 0),
    7500,
  );
  assert.equal(
    pauseMs(10, () => 0.5),
    11_250,
  );
});
