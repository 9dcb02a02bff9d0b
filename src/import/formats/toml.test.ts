import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ImportIssue } from "../report/report.ts";
import { readToml } from "./toml.ts";
import type { SourceNode } from "./source-tree.ts";

/** Returns the tree without positions. */
function plain({ value }: SourceNode): unknown {
  if (value.kind === "text") return value.text;
  if (value.kind === "list") return value.items.map(plain);
  return Object.fromEntries(value.entries.map(({ key, node }) => [key, plain(node)]));
}

describe("TOML", () => {
  for (const [what, text, expected] of [
    [
      "bare, quoted and dotted keys",
      "a.b = 1\n\"c d\" = 2\n'e.f'.g = 3",
      { a: { b: "1" }, "c d": "2", "e.f": { g: "3" } },
    ],
    [
      "numbers and truth values",
      "a = 1_000\nb = -3.5e+2\nc = 0xff\nd = true\ne = inf",
      { a: "1000", b: "-3.5e+2", c: "0xff", d: "true", e: "inf" },
    ],
    ["texts with escapes", String.raw`a = "tab\t\"quote\" \u00e9 \U0001F600"`, { a: 'tab\t"quote" é 😀' }],
    ["literal texts", String.raw`a = 'C:\path'`, { a: String.raw`C:\path` }],
    ["long texts", "a = \"\"\"\none\n  two \\\n   three\"\"\"\nb = '''\nx'y'''", { a: "one\n  two three", b: "x'y" }],
    ["lists over several lines", "a = [\n  1, # one\n  [2, 3],\n]", { a: ["1", ["2", "3"]] }],
    ["inline tables", 'a = { b = 1, c.d = "x", e = {} }', { a: { b: "1", c: { d: "x" }, e: {} } }],
    ["tables", "[a]\nb = 1\n[a.c]\nd = 2\n[e]", { a: { b: "1", c: { d: "2" } }, e: {} }],
    [
      "lists of tables",
      "[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]\nb = 3\n[[a.e]]\nf = 4",
      {
        a: [
          { b: "1", c: { d: "2" } },
          { b: "3", e: [{ f: "4" }] },
        ],
      },
    ],
    ["comments and empty lines", "# first\n\na = 1 # one\r\n", { a: "1" }],
    ["nothing", "", {}],
  ] as const) {
    it(`TOML with ${what} is read`, () => assert.deepEqual(plain(readToml("a.toml", text)), expected));
  }

  it("TOML values and keys have their positions", () => {
    const { value } = readToml("a.toml", 'first = 1\n\n[[list]]\n  name = "x"\n  inline = { deep = 2 }');
    const entries = value.kind === "map" ? value.entries : [];
    assert.deepEqual(
      entries.map(({ key, place }) => [key, place.line, place.column]),
      [
        ["first", 1, 1],
        ["list", 3, 3],
      ],
    );
    const [table] = entries[1]?.node.value.kind === "list" ? entries[1].node.value.items : [];
    const inner = table?.value.kind === "map" ? table.value.entries : [];
    assert.deepEqual(
      inner.map(({ key, place }) => [key, place.line, place.column]),
      [
        ["name", 4, 3],
        ["inline", 5, 3],
      ],
    );
  });

  for (const [text, message] of [
    ["a", /^a\.toml:1:2: .*expected "=" after the key/],
    ["a = ", /^a\.toml:1:5: expected a value/],
    ["a = nonsense", /^a\.toml:1:5: expected a value/],
    ["a = 2026-01-01", /^a\.toml:1:5: dates are not supported/],
    ["a = 1 b = 2", /^a\.toml:1:7: .*unexpected text at the end of the line/],
    ["[a\nb = 1", /^a\.toml:1:3: .*expected "\]"/],
    ["a = 1\n[a]", /^a\.toml:2:\d: .*"a" is already set/],
    ["[[a]]\n[a]", /^a\.toml:2:\d: .*"a" is already set/],
    ["[a]\n[[a]]", /^a\.toml:2:\d: .*"a" is already set/],
    ["a.b = 1\na = 2", /^a\.toml:2:1: "a" is set twice/],
    ["a = 1\na.b = 2", /^a\.toml:2:1: "a" is already set/],
    ["a = { b = 1 }\n[a.c]", /^a\.toml:2:2: "a" is already set/],
    ["a = { b = 1, b = 2 }", /^a\.toml:1:14: "b" is set twice/],
    ["a = [1 2]", /^a\.toml:1:8: .*expected "," or "\]" in a list/],
    ["a = 'open\n'", /^a\.toml:1:10: .*the text has no closing quote/],
    [String.raw`a = "\x"`, /^a\.toml:1:6: .*unknown escape in a text/],
    [String.raw`a = "\UFFFFFFFF"`, /^a\.toml:1:16: .*this is not a character/],
    ["= 1", /^a\.toml:1:1: .*expected a key/],
  ] as const) {
    it(`TOML is rejected with the position: ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => readToml("a.toml", text),
        (error) =>
          (error instanceof ImportIssue && message.test(error.message)) || assert.fail((error as Error).message),
      );
    });
  }
});
