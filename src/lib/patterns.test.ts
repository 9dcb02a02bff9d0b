import assert from "node:assert/strict";
import { it } from "node:test";
import { Patterns, unfold } from "./patterns.ts";

const partsOf = (n: number): readonly string[] => [`id${n}`, `shop-${n}`, String(1_700_000_000_000 + n), "ac_1", ""];

it("patterns are one for texts that differ in their parts alone, and give each back as it was", () => {
  const patterns = new Patterns();
  const all = Array.from({ length: 100 }, (_, n) => {
    const [id, host, at] = partsOf(n);
    const text = JSON.stringify({ id: `tn_${id}`, endpoint: `ep_${id}`, host, at, account: "ac_1", odd: '\u0001 "\\' });
    return { n, text, pattern: patterns.fold(text, partsOf(n)) };
  });
  assert.equal(patterns.size, 1);
  for (const { n, text, pattern } of all) assert.equal(unfold(pattern, partsOf(n)), text);
  for (const { pattern } of all) patterns.release(pattern);
  assert.equal(patterns.size, 0);
});

it("patterns give back texts whose parts are within one another, are empty, or cannot be in JSON", () => {
  const patterns = new Patterns();
  const text = JSON.stringify({ a: "aab", b: "ab", line: "x\ny", quote: '"' });
  for (const parts of [["ab", "aab"], ["aab", "ab"], ["", "a"], ["\n", '"', "\\"], ["\u0001"]]) {
    assert.equal(unfold(patterns.fold(text, parts), parts), text);
  }
});
