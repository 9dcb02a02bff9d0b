import assert from "node:assert/strict";
import { it } from "node:test";
import { Meter } from "./meter.ts";

it("a meter reports rates from the first second on, and forgets gradually", () => {
  let now = 0;
  const meter = new Meter(() => now);
  for (let at = 0; at < 400; at += 1) meter.begin();
  assert.deepEqual([meter.read().rates, meter.read().count, meter.read().gauge], [[400, 400, 400], 400, 400]);
  now = 2_000;
  assert.deepEqual(meter.read().rates, [200, 200, 200]);
  now = 5_000;
  assert.deepEqual(meter.read().rates, [80, 80, 80]);
  now = 65_000;
  const [one = 0, , fifteen = 0] = meter.read().rates;
  assert.ok(one < 30 && fifteen > 70, `${one} and ${fifteen}`);
  for (let at = 1; at <= 100; at += 1) meter.end(at);
  assert.deepEqual([meter.read().percentile(0.5), meter.read().percentile(0.9)], [51, 91]);
});
