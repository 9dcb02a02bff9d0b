import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "./ids.ts";

test("P1: ids cannot be guessed from one another: 16 of their 27 digits are random", () => {
  const ids = Array.from({ length: 2000 }, () => newId("bot", 1_700_000_000_000));
  for (const id of ids) assert.match(id, /^bot_[0-9a-z]{27}$/);
  const chance = ids.map((id) => id.slice(-16));
  for (let at = 0; at < 16; at += 1) assert.equal(new Set(chance.map((digits) => digits[at])).size, 36, String(at));
  assert.equal(new Set(chance).size, chance.length);
});

test("ids sort in the order of their creation, even if the clock goes back", () => {
  const ids = [1_700_000_000_001, 1_700_000_000_001, 1_600_000_000_000].map((nowMs) => newId("bot", nowMs));
  assert.deepEqual(ids.toSorted(), ids);
});
