import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RE2JS } from "re2js";
import { seededRandom } from "../../../test/support/random.ts";
import { toPlainPattern } from "./plain-pattern.ts";

const plain = [
  "bot",
  "(?i)bot|crawler",
  "(?i)(?:bot|k|s)",
  "(curl|wget)",
  "^/api/|^/v1/",
  "\\.php$",
  "a\\\\-b",
  "(?i)k\\.\\-s",
  "^GET$",
  "a-b\\-c\\/d",
];
const others = [
  "",
  "a|",
  "bo+t",
  "b.t",
  "[bc]ot",
  "\\d",
  "\\bbot",
  "(a)(b)",
  "((a))",
  "x(a|b)",
  "(?s)a",
  "(?i:a)",
  "a{2}",
  "ä",
  "a".repeat(65),
  "(?P<name>a)",
  "a||b",
  "\\Qa\\E",
  "^$x",
  "x^",
  "a\\|b",
  "\\(bot\\)",
];
const letters = [
  "b",
  "o",
  "t",
  "B",
  "K",
  "\u212a",
  "s",
  "\u017f",
  "/",
  "a",
  "p",
  "i",
  ".",
  "|",
  "x",
  "\n",
  "ä",
  "\ud800",
  "-",
];

describe("a plain pattern", () => {
  it("a plain pattern is distinguished from patterns with operators", () => {
    for (const pattern of plain) assert.ok(toPlainPattern(pattern), pattern);
    for (const pattern of others) assert.equal(toPlainPattern(pattern), undefined, pattern);
  });

  it("a plain pattern matches exactly where RE2 does, in 20,000 texts", () => {
    const words = ["bot", "Crawler", "curl", "/api/", "a.php", "GET", "a\\-b", "K.-S", "a-b-c/d"];
    const random = seededRandom(11);
    const tried = plain.map((pattern) => ({
      pattern,
      ours: toPlainPattern(pattern) as RegExp,
      theirs: RE2JS.compile(pattern),
      found: 0,
    }));
    for (let count = 0; count < 20_000; count += 1) {
      const pieces = Array.from({ length: random.below(6) }, () => random.pick(random() < 0.3 ? words : letters));
      const text = pieces.join("");
      const one = random.pick(tried);
      const wanted = one.theirs.test(text);
      assert.equal(one.ours.test(text), wanted, JSON.stringify([one.pattern, text]));
      one.found += Number(wanted);
    }
    for (const { pattern, found } of tried) assert.ok(found > 0, pattern);
  });
});
