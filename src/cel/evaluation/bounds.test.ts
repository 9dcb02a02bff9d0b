import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineEnvironment } from "../checking/environment.ts";
import { listOf, types } from "../checking/cel-types.ts";
import { listFunctions } from "../functions/list-functions.ts";
import { standardFunctions } from "../functions/standard.ts";
import { stringFunctions } from "../functions/strings.ts";
import { compileSource } from "../program.ts";
import type { Program } from "../program.ts";
import { issueText } from "../syntax/issue.ts";
import { CelFailure } from "../values/cel-failure.ts";

interface Given {
  readonly text: string;
  readonly list: readonly bigint[];
}

const environment = defineEnvironment({
  variables: {
    text: { type: types.string, read: ({ text }: Given) => text },
    list: { type: listOf(types.int), read: ({ list }: Given) => list },
  },
  functions: [...standardFunctions, ...stringFunctions, ...listFunctions],
});

const given: Given = {
  text: "a".repeat(65_536),
  list: Array.from({ length: 1000 }, (_, at) => BigInt(at)),
};

function program(source: string): Program {
  const compiled = compileSource(source, environment);
  assert.ok(compiled.ok, compiled.ok ? "" : compiled.issues.map(issueText).join("\n"));
  return compiled.program;
}

const tooManySteps = /takes more steps than it may/;
const tooLong = /a text is longer than 65536 characters/;
const tooMany = /has more than 1000 items/;

const hostile: readonly (readonly [what: string, source: string, message: RegExp])[] = [
  ["loops inside loops", "list.all(a, list.all(b, list.all(c, a + b + c >= 0)))", tooManySteps],
  ["loops whose failures would be overlooked", "list.exists(a, list.all(b, b / 0 == 1)) || true", tooManySteps],
  [
    "a text that doubles",
    `[${"'aaaaaaaaaaaaaaaa',".repeat(8)}].map(x, x + x + x + x).map(x, x + x + x + x).map(x, x + x + x + x).map(x, x + x + x + x).map(x, x + x + x + x).map(x, x + x + x + x)`,
    /longer than|more steps/,
  ],
  ["a text that is too long", "text + text", tooLong],
  ["a replacement that is too long", "text.replace('a', 'aa')", tooLong],
  ["a list that is too long", "list + list", tooMany],
  ["a range that is too long", "lists.range(9223372036854775807)", tooMany],
  ["a split into too many", "text.split('')", tooMany],
  ["a flattening into too many", "[list, list].flatten()", tooMany],
  ["joins of long texts", "[text, text].join()", tooLong],
  ["format of long texts", "'%s%s'.format([text, text])", tooLong],
  ["a hexadecimal form of a long text", "'%x'.format([text])", tooLong],
  ["a quadratic search", `text.contains(text.substring(1, 30000) + 'b')`, tooManySteps],
  ["a quadratic search from behind", `text.lastIndexOf('b' + text.substring(1, 30000)) > 0`, tooManySteps],
  ["a regular expression again and again", "list.all(x, text.matches('(a+)+$'))", tooManySteps],
  ["a regular expression that is large, on a long text", "text.matches('(a|b|c|d|e|f|g|h){0,200}$')", tooManySteps],
  [
    "a regular expression of its own each time",
    "list.all(x, 'a'.matches('a' + string(x) + '?') || true)",
    tooManySteps,
  ],
  ["comparing a list with itself", "list.all(x, list == list)", tooManySteps],
  ["looking for what is not there", "list.exists(x, -1 in list)", tooManySteps],
  ["sorting again and again", "list.all(x, list.sort().size() > 0)", tooManySteps],
  ["distinct items of a long list", "list.distinct()", tooManySteps],
  ["time zones", "list.all(x, timestamp(x).getHours('Asia/Kathmandu') >= 0)", tooManySteps],
];

describe("an evaluation", () => {
  for (const [what, source, message] of hostile) {
    it(`ends at its bounds: ${what}`, () => {
      const failed = program(source).evaluate(given);
      assert.ok(failed instanceof CelFailure, `${source} gave a value`);
      assert.match(failed.message, message);
    });
  }

  it("an evaluation refuses regular expressions that are too large at compile time", () => {
    const patterns: readonly (readonly [string, RegExp])[] = [
      ["(((a{1,100}){1,100}){1,100})", /too large once its repetitions are written out/],
      ["(a{1,100}", /the regular expression cannot be read/],
      ["[ab]{1,999}[bc]{1,999}[cd]{1,999}", /too large once its repetitions are written out/],
      ["a".repeat(2000), /more than 1024 characters/],
    ];
    for (const [pattern, message] of patterns) {
      const compiled = compileSource(`text.matches('${pattern}')`, environment);
      assert.match(compiled.ok ? "" : compiled.issues.map(issueText).join(), message);
    }
    const failed = program("'a'.matches(text)").evaluate(given);
    assert.match(failed instanceof CelFailure ? failed.message : "", /more than 1024 characters/);
  });

  it("an evaluation is charged more for work that is slower than reading", () => {
    const dear: Readonly<Record<string, number>> = {
      "text.matches('(a+)+$')": 6,
      "text.reverse() == ''": 8,
      "text.trim() == ''": 4,
      "text.lowerAscii() == ''": 4,
      "text.upperAscii() == ''": 4,
      "text.replace('a', 'b') == ''": 4,
      "text.size() == 1": 2,
      "text.charAt(1) == ''": 2,
      "text.indexOf('b') == 1": 2,
    };
    for (const [source, times] of Object.entries(dear)) {
      const budget = { steps: 10_000 };
      assert.ok(!(program(source).evaluate(given, budget) instanceof CelFailure), source);
      assert.ok(10_000 - budget.steps >= times * 1024, `${source} took ${10_000 - budget.steps}`);
      assert.ok(10_000 - budget.steps <= (times + 3) * 1024, `${source} took ${10_000 - budget.steps}`);
    }
    const twice = program("text.matches('(a+)+b') || text.matches('(a+)+c')").evaluate(given);
    assert.match(twice instanceof CelFailure ? twice.message : "it gave a value", tooManySteps);
  });

  it("an evaluation takes its steps from a shared budget", () => {
    const one = program("list.all(x, x >= 0)");
    const budget = { steps: 5000 };
    assert.equal(one.evaluate(given, budget), true);
    // One step for the loop, two for each item, and one scan of the list's 1000 items for numbers.
    assert.equal(budget.steps, 5000 - 2001 - 63);
    assert.equal(one.evaluate(given, budget), true);
    assert.ok(one.evaluate(given, budget) instanceof CelFailure);
    assert.equal(budget.steps, 0);
    assert.ok(program("1 + list[0] == 1").evaluate(given, budget) instanceof CelFailure);
  });

  it("an evaluation is not affected by the cost of earlier ones", () => {
    const one = program("list.all(x, [x].all(y, y >= 0))");
    for (let round = 0; round < 5; round += 1) assert.equal(one.evaluate(given), true);
  });
});
