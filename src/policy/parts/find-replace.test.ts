import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Worker } from "node:worker_threads";
import { replaceInBytes, replaceInText } from "./find-replace.ts";
import { patternFor } from "./shared-patterns.ts";
import { compileReplacement } from "./replacement.ts";
import { ReplaceFault, replaceMatches } from "./replacing.ts";
import type { TextReplacement } from "./replacing.ts";

const maxLength = 1024 * 1024;
const bounds = { maxLength, owner: "ac_1" };

/** Started threads, in order. */
const threads: Worker[] = [];
process.on("worker", (started) => threads.push(started));

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
    it(`replacements in a text produce ${JSON.stringify(result)} from ${JSON.stringify(text)} by ${JSON.stringify(list)}`, async () => {
      assert.equal(await replaced(text, ...list), result);
    });
  }

  it("replacements in a text report their matches, shortened and counted", async () => {
    const list = replacements(["b+", ""], ["c", "d"]);
    const result = await replaceInText(`a${"b".repeat(5000)}${"c".repeat(500)}`, list, bounds);
    assert.ok(!(result instanceof ReplaceFault));
    assert.equal(result.matches.length, 100);
    assert.deepEqual(result.matches[0], { replacement_index: 0, matched_content: "b".repeat(1024) });
    assert.deepEqual(result.matches[1], { replacement_index: 1, matched_content: "c" });
  });

  it("replacements in a text leave bytes unchanged if they are not UTF-8, too many, or without a match", async () => {
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

  it("replacements in a text cannot grow a text beyond its limit, even by doubling it", async () => {
    const doubling = Array.from({ length: 100 }, () => [".+", "$0$0"] as const);
    for (const list of [doubling, [["x", "y".repeat(2000)] as const]]) {
      const result = await replaceInText("x".repeat(1000), replacements(...list), { ...bounds, maxLength: 20_000 });
      assert.ok(result instanceof ReplaceFault && /longer/.test(result.message));
    }
  });

  it("replacements in a text end in time for expressions with quadratic total search time", async () => {
    assert.match(await replaced("a".repeat(1_000_000), ["(a.*z)|a", "b"]), /^fault: .*too long/);
  });

  it("D7: replacements in a long text do not block other work of the thread, even during a single search", async () => {
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const found = await replaced("abc-123 ".repeat(maxLength / 8), ["\\b\\d{3}-\\d{2}-\\d{4}\\b", ""]);
    clearImmediate(next);
    // A search on this thread would leave only a handful.
    assert.ok(turns > 100, `${turns} turns`);
    assert.equal(found.length, maxLength);
  });

  it("replacements in a long text have the same result as in a short one", async () => {
    for (const [text, list] of rows) {
      if (text === "") continue;
      const long = text.repeat(Math.ceil(20_000 / text.length));
      const work = replaceMatches(long, replacements(...list), { maxLength, maxSearch: Infinity });
      let step = work.next();
      while (!step.done) step = work.next();
      const wanted = step.value;
      assert.ok(!(wanted instanceof ReplaceFault));
      assert.deepEqual(await replaceInText(long, replacements(...list), bounds), wanted);
    }
  });

  it("replacements in a text that grows continue in the thread, from the beginning", async () => {
    const list = [["a", "b".repeat(100)] as const, ["b{100}", "c"] as const];
    assert.equal(await replaced("a".repeat(2000), ...list), "c".repeat(2000));
  });

  it("replacements in long texts have a queue limit, and accounts take turns", async () => {
    const ended: string[] = [];
    const long = "abc ".repeat(30_000);
    const ask = (owner: string) =>
      replaceInText(long, replacements(["[0-9]+", ""]), { maxLength, owner }).then((result) => {
        ended.push(owner);
        return result;
      });
    const many = Array.from({ length: 20 }, () => ask("ac_many"));
    const one = ask("ac_one");
    assert.ok(!((await one) instanceof ReplaceFault));
    const faults = (await Promise.all(many)).filter((result) => result instanceof ReplaceFault);
    // One text is searched, sixteen wait.
    assert.equal(faults.length, 3);
    assert.ok(ended.lastIndexOf("ac_many") > ended.indexOf("ac_one") + 10);
  });

  it("replacements in long texts survive a crash of their thread", async () => {
    const list = replacements(["[0-9]+", ""]);
    const long = "abc ".repeat(250_000);
    await replaceInText(long, list, bounds);
    const asked = [replaceInText(long, list, bounds), replaceInText(long, list, bounds)];
    await threads.at(-1)?.terminate();
    const [first, second] = await Promise.all(asked);
    assert.ok(first instanceof ReplaceFault && /stopped unexpectedly/.test(first.message));
    assert.ok(!(second instanceof ReplaceFault));
    assert.equal(threads.length, 2);
  });

  it("replacements in a text are rejected if one search of the text would take too long", async () => {
    assert.match(await replaced("a".repeat(1_000_000), ["(?:[a-c]{1,30}x){1,20}", ""]), /^fault: .*too large/);
  });

  it("replacements in a text are limited by work time, not by the number of matches", async () => {
    let asked = 0;
    const result = await replaceInText("a".repeat(16_000), replacements(["a", ""]), {
      ...bounds,
      worked: () => (asked += 300),
    });
    assert.ok(result instanceof ReplaceFault && /too long/.test(result.message));
    assert.equal(asked, 600);
  });
});

describe("patterns", () => {
  it("patterns report syntax errors, and never throw", () => {
    for (const text of ["(", "(?=x)", "\\1", "a{9999}", "x".repeat(2000), "[z-a]", "(?<n>a)(?<n>b)", "\\p{Nope}"]) {
      assert.equal(typeof patternFor(text), "string", text.slice(0, 20));
      assert.equal(typeof patternFor(text), "string");
    }
    assert.equal(patternFor("a+"), patternFor("a+"));
  });
});
