import assert from "node:assert/strict";
import { it } from "node:test";
import { Patterns } from "./patterns.ts";

const partsOf = (n: number): readonly string[] => [`id${n}`, `shop-${n}`, String(1_700_000_000_000 + n), "ac_1", ""];

it("patterns are shared by texts that differ only in their parts, and restore each text exactly", () => {
  const patterns = new Patterns();
  const all = Array.from({ length: 100 }, (_, n) => {
    const [id, host, at] = partsOf(n);
    const text = JSON.stringify({ id: `tn_${id}`, endpoint: `ep_${id}`, host, at, account: "ac_1", odd: '\u0001 "\\' });
    return { n, text, pattern: patterns.fold(text, partsOf(n)) };
  });
  assert.equal(patterns.size, 1);
  for (const { n, text, pattern } of all)
    assert.equal(
      patterns.unfold(pattern, (at) => partsOf(n)[at] as string),
      text,
    );
  for (const { pattern } of all) patterns.release(pattern);
  assert.equal(patterns.size, 0);
  assert.throws(() => patterns.unfold(0, String));
});

it("patterns restore texts whose parts are nested, empty, or impossible in JSON", () => {
  const patterns = new Patterns();
  const text = JSON.stringify({ a: "aab", b: "ab", line: "x\ny", quote: '"' });
  for (const parts of [["ab", "aab"], ["aab", "ab"], ["", "a"], ["\n", '"', "\\"], ["\u0001"]]) {
    assert.equal(
      patterns.unfold(patterns.fold(text, parts), (at) => parts[at] as string),
      text,
    );
  }
});

it("patterns return single lines, and reuse the numbers of released patterns", () => {
  const patterns = new Patterns();
  const parts = ["a1", "b1"];
  const number = patterns.fold('of a1\nand b1\n{"a":"a1"}', parts);
  assert.deepEqual(
    [0, 1, 2].map((line) => patterns.line(number, line, (at) => parts[at] as string)),
    ["of a1", "and b1", '{"a":"a1"}'],
  );
  const other = patterns.fold("{}", []);
  patterns.release(number);
  assert.equal(patterns.fold("[]", []), number);
  assert.equal(patterns.unfold(other, String), "{}");
});
