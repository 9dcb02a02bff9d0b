import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Document, parseAllDocuments, Parser, visit } from "yaml";
import { seededRandom } from "../../test/support/random.ts";
import type { Random } from "../../test/support/random.ts";
import { JsonIssue } from "./json.ts";
import { runAtOnce } from "./slices.ts";
import { yamlSteps } from "./yaml.ts";
import { checkPlain, composerOptions, isLargeCollection, largeValue } from "./yaml-values.ts";

function parse(text: string): unknown {
  return runAtOnce(yamlSteps(text)).value;
}

/** Counts the steps in which the value of a text is composed. */
function countSteps(text: string): number {
  const document = [...new Parser().parse(text)].find(({ type }) => type === "document");
  assert.ok(document?.type === "document" && isLargeCollection(document.value));
  return [...largeValue(document.value, 1, ({ message }) => new JsonIssue(message))].length;
}

/** Has the library parse the text in one piece. */
function parseWhole(text: string): unknown {
  const [document, second] = parseAllDocuments(text, composerOptions) as Document.Parsed[];
  if (!document || second || document.errors.length > 0 || document.warnings.length > 0) throw new JsonIssue("");
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (typeof value !== "object" || value === null) throw new JsonIssue("");
  checkPlain(value, 1);
  return value;
}

const texts = ["a", "b c", "true", "12", "x: y", "- q", "two\nlines\n", "", " s", "'", "#", "null", "a,b", "[", "{"];

function randomValue(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 4 : 8);
  if (kind < 2) return random.pick(texts);
  if (kind < 4) return random.pick([1, -2.5, true, null]);
  const items = Array.from({ length: random.below(depth === 0 ? 40 : 10) }, () => randomValue(random, depth + 1));
  return kind < 6
    ? items
    : Object.fromEntries(items.map((item, at) => [`${random.pick(["k", "a b", "1"])}${at}`, item]));
}

function randomText(random: Random): string {
  const document = new Document([randomValue(random), randomValue(random)], composerOptions);
  visit(document, {
    Collection(_, collection) {
      collection.flow = random.below(4) === 0;
      if (random.below(10) === 0) collection.commentBefore = " comment";
    },
  });
  const text = document.toString({ lineWidth: random.pick([0, 40, 80]), indentSeq: random.below(2) === 0 });
  if (random.below(4) === 0) return text;
  const at = random.below(text.length);
  return text.slice(0, at) + random.pick(damages) + text.slice(at + random.below(3));
}

const damages = [
  ",",
  ",,",
  " ",
  "\n",
  "\n  ",
  "- ",
  ": ",
  "? ",
  "#",
  " # c\n",
  "}",
  "]",
  "{",
  "[",
  "*a",
  "&a ",
  "!x ",
  "!!str ",
];

describe("large collections in YAML", () => {
  const names = Array.from({ length: 1000 }, (_, at) => `n${at}`);
  for (const [what, text, value] of [
    [
      "a block mapping",
      names.map((name) => `${name}: 1\n`).join(""),
      Object.fromEntries(names.map((name) => [name, 1])),
    ],
    ["a block sequence", `l:\n${names.map((name) => `- ${name}\n`).join("")}`, { l: names }],
    ["a flow mapping", `{${names.join(": , ")}: }`, Object.fromEntries(names.map((name) => [name, null]))],
    ["a flow sequence", `l: [ # comment\n ${names.join(",\n ")},\n ]`, { l: names }],
    ["pairs", `[x: [${names.join()}], y]`, [{ x: names }, "y"]],
  ] as const) {
    it(`yamlSteps composes ${what} in small parts`, () => {
      assert.deepEqual(parse(text), value);
      assert.ok(countSteps(text) > names.length / 64, `${countSteps(text)} steps`);
    });
  }

  for (const [what, text] of [
    ["the same name at both ends", `${names.map((name) => `${name}: 1\n`).join("")}n0: 2`],
    ["an empty item", `[${names.slice(0, 40).join()},,${names.join()}]`],
    ["a missing comma", `[${names.map((name) => `{a: ${name}}`).join(" ")}]`],
    ["a large name", `{ [${names.join()}]: 1 }`],
    ["an unknown tag", `l: !x\n${names.map((name) => `- ${name}\n`).join("")}`],
    ["an alias", `a: &a 1\nl:\n${names.map((name) => `- ${name}\n`).join("")}- *a`],
    ["deep nesting", `${`[${names.join()},`.repeat(33)}${"]".repeat(33)}`],
  ] as const) {
    it(`P2: yamlSteps rejects a large collection with ${what}`, () => {
      assert.throws(() => parse(text), JsonIssue);
    });
  }

  it("P2: yamlSteps accepts the same texts as the library, and returns the same values", () => {
    const random = seededRandom(20_261_128);
    const counts = { accepted: 0, rejected: 0 };
    for (let round = 0; round < 50; round += 1) {
      const text = randomText(random);
      let expected: unknown;
      try {
        expected = parseWhole(text);
      } catch {
        counts.rejected += 1;
        assert.throws(() => parse(text), JsonIssue, text);
        continue;
      }
      counts.accepted += 1;
      assert.deepEqual(parse(text), expected, text);
    }
    assert.ok(Math.min(counts.accepted, counts.rejected) > 10, JSON.stringify(counts));
  });
});
