import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReplaceFault, replaceInBytes, replaceInText } from "./find-replace.ts";
import type { TextReplacement } from "./find-replace.ts";
import { patternFor } from "./patterns.ts";
import { compileReplacement } from "./replacement.ts";

const maxLength = 1024 * 1024;
const bounds = { maxLength };

function replacements(...list: readonly (readonly [from: string, to: string])[]): TextReplacement[] {
  return list.map(([from, to]) => {
    const pattern = patternFor(from);
    assert.ok(typeof pattern !== "string");
    return { pattern, to: compileReplacement(to) };
  });
}

async function replaced(text: string, ...list: readonly (readonly [string, string])[]): Promise<string> {
  const result = await replaceInText(text, replacements(...list), bounds);
  return result instanceof ReplaceFault ? `fault: ${result.message}` : result.content;
}

describe("replacements in a text", () => {
  const rows: readonly (readonly [text: string, list: readonly (readonly [string, string])[], result: string])[] = [
    [
      "secret ssn 123-45-6789",
      [
        ["\\b\\d{3}-\\d{2}-\\d{4}\\b", "[hidden]"],
        ["secret ", ""],
      ],
      "ssn [hidden]",
    ],
    ["aaa", [["a", "b"]], "bbb"],
    ["aaa", [["a", "aa"]], "aaaaaa"],
    [
      "ab",
      [
        ["a", "b"],
        ["b", "c"],
      ],
      "cc",
    ],
    ["John Smith", [["(\\w+) (\\w+)", "$2, $1"]], "Smith, John"],
    ["x=1&y=2", [["(\\w)=(\\d)", "$0$0"]], "x=1x=1&y=2y=2"],
    ["ab", [["(a)|(b)", "<$1|$2|$3>"]], "<a||$3><|b|$3>"],
    ["price", [["price", "$ 5 $$1 $host $"]], "$ 5 $$1 $host $"],
    ["abc", [["x*", "-"]], "-a-b-c-"],
    ["", [["^$", "empty"]], "empty"],
    ["", [["a", "b"]], ""],
    ["one\ntwo", [["(?m)^", "> "]], "> one\n> two"],
    ["Käse 🧀 Käse", [["(?i)KÄSE", "Brot"]], "Brot 🧀 Brot"],
    ["🧀🧀", [[".", "$0!"]], "🧀!🧀!"],
    ["🧀", [["x*", "-"]], "-🧀-"],
  ];
  for (const [text, list, result] of rows) {
    it(`make ${JSON.stringify(result)} of ${JSON.stringify(text)} by ${JSON.stringify(list)}`, async () => {
      assert.equal(await replaced(text, ...list), result);
    });
  }

  it("tell what they found, cut and counted", async () => {
    const list = replacements(["b+", ""], ["c", "d"]);
    const result = await replaceInText(`a${"b".repeat(5000)}${"c".repeat(500)}`, list, bounds);
    assert.ok(!(result instanceof ReplaceFault));
    assert.equal(result.matches.length, 100);
    assert.deepEqual(result.matches[0], { replacement_index: 0, matched_content: "b".repeat(1024) });
    assert.deepEqual(result.matches[1], { replacement_index: 1, matched_content: "c" });
  });

  it("leave bytes alone that are not UTF-8, too many, or without a match", async () => {
    const list = replacements(["a", "b"]);
    const wrong = await replaceInBytes(Buffer.from([0x61, 0xff]), list, bounds);
    assert.ok(wrong instanceof ReplaceFault && /UTF-8/.test(wrong.message));
    const long = await replaceInBytes(Buffer.alloc(maxLength + 1), list, bounds);
    assert.ok(long instanceof ReplaceFault && /longer/.test(long.message));
    const bytes = Buffer.from("\u{feff}xyz");
    const same = await replaceInBytes(bytes, list, bounds);
    assert.ok(!(same instanceof ReplaceFault) && same.content === bytes);
    const changed = await replaceInBytes(Buffer.from("\u{feff}a🧀"), list, bounds);
    assert.ok(!(changed instanceof ReplaceFault));
    assert.equal(changed.content.toString(), "\u{feff}b🧀");
  });

  it("replacements in a text do not grow a text beyond its bound, however often they double it", async () => {
    const doubling = Array.from({ length: 100 }, () => [".+", "$0$0"] as const);
    for (const list of [doubling, [["x", "y".repeat(2000)] as const]]) {
      const result = await replaceInText("x".repeat(1000), replacements(...list), { maxLength: 20_000 });
      assert.ok(result instanceof ReplaceFault && /longer/.test(result.message));
    }
  });

  it("end in time for expressions whose searches add up to the square of the text", async () => {
    assert.match(await replaced("a".repeat(1_000_000), ["(a.*z)|a", "b"]), /^fault: .*too long/);
  });

  it("let others run while they take long", async () => {
    let ran = 0;
    const timer = setInterval(() => (ran += 1), 1);
    await replaced("a".repeat(200_000), ["(a.*z)|a", "b"]);
    clearInterval(timer);
    assert.ok(ran > 0);
  });

  it("replacements in a text are refused when one search of the text would take too long", async () => {
    assert.match(await replaced("a".repeat(1_000_000), ["(?:[a-c]{1,30}x){1,20}", ""]), /^fault: .*too large/);
  });

  it("end by the time that was worked, not by the number of matches", async () => {
    let asked = 0;
    const result = await replaceInText("a".repeat(100_000), replacements(["a", ""]), {
      maxLength,
      worked: () => (asked += 300),
    });
    assert.ok(result instanceof ReplaceFault && /too long/.test(result.message));
    assert.equal(asked, 600);
  });
});

describe("patterns", () => {
  it("patterns say what is wrong with them, and never throw", () => {
    for (const text of ["(", "(?=x)", "\\1", "a{9999}", "x".repeat(2000), "[z-a]", "(?<n>a)(?<n>b)", "\\p{Nope}"]) {
      assert.equal(typeof patternFor(text), "string", text.slice(0, 20));
      assert.equal(typeof patternFor(text), "string");
    }
    assert.equal(patternFor("a+"), patternFor("a+"));
  });
});
