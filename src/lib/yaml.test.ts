import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JsonIssue } from "./json.ts";
import { parseYamlObject, renderYaml } from "./yaml.ts";

describe("parseYamlObject", () => {
  it("parseYamlObject parses everything that JSON can express", () => {
    assert.deepEqual(parseYamlObject("a: yes\nb: [1, 2.5, true, ~]\nc: |\n  two\n  lines\n"), {
      a: "yes",
      b: [1, 2.5, true, null],
      c: "two\nlines\n",
    });
    assert.deepEqual(parseYamlObject('{"a": {"b": "c"}}'), { a: { b: "c" } });
  });

  for (const [what, text] of [
    ["no object", "- 1"],
    ["nothing", ""],
    ["two documents", "a: 1\n---\nb: 2"],
    ["the same name twice", "a: 1\na: 2"],
    ["an alias", "a: &x [1]\nb: *x"],
    ["an alias of itself", "a: &x [*x]"],
    ["many aliases", `a: &a [x]\n${Array.from({ length: 20 }, (_, at) => `b${at}: [*a, *a]`).join("\n")}`],
    ["a tag", "a: !secret x"],
    ["binary data", "a: !!binary aGk="],
    ["infinity", "a: .inf"],
    ["a number beyond all numbers", "a: 1e400"],
    ["a name that is a list", "? [a]\n: 1"],
    ["__proto__", "__proto__: {a: 1}"],
    ["deep nesting", `a: ${"[".repeat(40)}${"]".repeat(40)}`],
    ["nesting without an end", "[".repeat(5000)],
    ["broken indentation", "a:\n  b: 1\n c: 2"],
  ] as const) {
    it(`P2: parseYamlObject rejects ${what}`, () => {
      assert.throws(() => parseYamlObject(text), JsonIssue);
    });
  }
});

describe("renderYaml", () => {
  it("renderYaml writes text that parses to exactly the same value, including shared values", () => {
    const shared = { deep: ["x"] };
    const texts = [
      "yes",
      "1",
      "~",
      "",
      " a ",
      "a: b",
      "# c",
      "two\nlines\n\n",
      "\u0085\u2028",
      "\ud800",
      "'\"",
      "- x",
      "\t",
    ];
    const value = { texts, one: shared, two: shared, number: 1.5, none: null, "odd: key\ud800": true };
    assert.deepEqual(parseYamlObject(Buffer.from(renderYaml(value)).toString()), value);
  });
});
