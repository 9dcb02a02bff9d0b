import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultLimits } from "../values/cel-limits.ts";
import { issueText } from "./issue.ts";
import { parseExpression } from "./parser.ts";
import { endOfExpression } from "./lexer.ts";
import { childrenOf } from "./tree.ts";
import type { Node } from "./tree.ts";

const refusals: readonly (readonly [source: string, text: RegExp])[] = [
  ["", /^line 1, column 1: a value must stand here, the expression ends$/],
  ["req.method = 'GET'", /^line 1, column 12: "=" cannot stand here; to compare, write `==`$/],
  ["a &&\n  b @ c", /^line 2, column 5: "@" cannot stand here$/],
  ["'😁' & true", /^line 1, column 5: "&" cannot stand here; to join conditions, write `&&`$/],
  ["a and b", /column 3: an operator or the end must stand here, there is "and"; write `&&` for "and"$/],
  ["a == 'x", /column 6: the string is not closed$/],
  ["'\\d+'", /column 1: the string has an unknown escape; write `\\\\` for a backslash, or r'…' for a raw string$/],
  ["'\\ud83d'", /\\ud83d is not a character/],
  ["b'\\u0041'", /\\u0041 cannot stand in bytes/],
  ["${a}", /column 1: "\$" cannot stand here; an expression has no `\$\{…\}` around it$/],
  ["9223372036854775808", /does not fit an int of 64 bits/],
  ["-1u", /does not fit a uint of 64 bits/],
  ["1e999", /too large for a double/],
  ["a.in", /the name of a field must stand here, there is "in"/],
  ["a // '''\n @ '''", /^line 2, column 2: "@" cannot stand here$/],
  [`a ${"/".repeat(4000)}\n@`, /^line 2, column 1: "@" cannot stand here$/],
  ["while", /"while" is a reserved word/],
  ["has(a)", /column 5: has asks for a field; write has\(a\.b\) or has\(a\['b'\]\)$/],
  ["list.map(1, 2)", /column 10: the first argument of map must be a name/],
  ["Name{a: 1}", /column 5: messages cannot be made; a map is written \{'key': value\}$/],
  ["[1, 2", /"\]" must stand here, the expression ends/],
  ["f(a,)", /a value must stand here, there is "\)"/],
];

/** A seeded generator, so that failures can be reproduced. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function partsOf(node: Node): Node[] {
  return [node, ...childrenOf(node).flatMap(partsOf)];
}

describe("parsing an expression", () => {
  for (const [source, text] of refusals) {
    it(`${JSON.stringify(source)} is refused at the right position`, () => {
      const parsed = parseExpression(source);
      assert.ok(!parsed.ok);
      assert.match(parsed.issues.map(issueText).join("\n"), text);
    });
  }

  it("parsing an expression records the position of each part", () => {
    const source = "a.b(c)[0] == -2 && [x, {'k': 1}].exists(v, v > y)";
    const parsed = parseExpression(source);
    assert.ok(parsed.ok);
    const texts = partsOf(parsed.tree.root).map(({ from, to }) => source.slice(from, to));
    for (const part of [source, "a.b(c)[0] == -2", "a.b(c)[0]", "a.b(c)", "-2", "{'k': 1}", "v > y"]) {
      assert.ok(texts.includes(part), `${part} is among ${texts.join(" | ")}`);
    }
  });

  it("numbers the nodes from 0 without gaps", () => {
    const parsed = parseExpression("[a, b.c, d ? e : f].filter(g, has(g.h)).map(i, i + 1, {i: 2})");
    assert.ok(parsed.ok);
    const ids = partsOf(parsed.tree.root).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(Math.max(...ids) < parsed.tree.nodes);
  });

  const tooMuch: readonly (readonly [what: string, source: string, text: RegExp])[] = [
    ["brackets", "(".repeat(1000), /nested more than 64 deep/],
    ["lists", `${"[".repeat(100)}${"]".repeat(100)}`, /nested more than 64 deep/],
    ["conditions", "a ? b : ".repeat(100), /nested more than 64 deep/],
    ["a chain of calls", `a${".b()".repeat(100)}`, /nested more than 64 deep/],
    ["a sum", `1${"+1".repeat(100)}`, /nested more than 64 deep/],
    ["parts", `[${"1,".repeat(2000)}]`, /more than 2000 parts/],
    ["characters", " ".repeat(5000), /has 5000 characters, at most 4096 are read/],
  ];
  for (const [what, source, text] of tooMuch) {
    it(`parsing an expression refuses input beyond its limits: ${what}`, () => {
      const parsed = parseExpression(source);
      assert.ok(!parsed.ok);
      assert.match(parsed.issues[0]?.message ?? "", text);
    });
  }

  it("parsing an expression accepts hundreds of conditions in one chain, which is not deep", () => {
    const parsed = parseExpression(Array.from({ length: 500 }, () => "a").join("||"));
    assert.ok(parsed.ok);
    assert.equal(parsed.tree.root.depth, 2);
  });

  it("finds the end of an expression inside a text", () => {
    const ends: readonly (readonly [text: string, expression: string | undefined])[] = [
      ["${a} b", "a"],
      ["${req.host.split('}')[0]}.internal", "req.host.split('}')[0]"],
      ['${{"shop": "store"}[req.host]}.internal', '{"shop": "store"}[req.host]'],
      ["${'''a}'b'''}}", "'''a}'b'''"],
      ["${a // }\n}", "a // }\n"],
      ["${ }", " "],
      ["${vars.a", undefined],
      ["${'a}", undefined],
      ["${a $ b}", undefined],
      ["${a  ", undefined],
    ];
    for (const [text, expression] of ends) {
      const end = endOfExpression(text, 2);
      assert.equal(end === undefined ? undefined : text.slice(2, end), expression, text);
    }
  });

  it("never throws, whatever the input", () => {
    const words =
      "a . ( ) [ ] { } , ? : ! - + == && || in 'x' \"\"\" b'\\xff' r'\\' 0x 1u 1.5e3 has map exists_one // \n ` 😁 \\".split(
        " ",
      );
    const next = random(7);
    for (let round = 0; round < 3000; round += 1) {
      const source = Array.from({ length: next(20) }, () => words[next(words.length)]).join(next(2) === 0 ? "" : " ");
      const parsed = parseExpression(source, { ...defaultLimits, depth: 16 });
      if (parsed.ok) continue;
      const [issue] = parsed.issues;
      assert.ok(issue && issue.offset <= source.length && issue.line > 0 && issue.column > 0, source);
    }
  });
});
