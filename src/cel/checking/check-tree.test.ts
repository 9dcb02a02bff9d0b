import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listFunctions } from "../functions/list-functions.ts";
import { standardFunctions } from "../functions/standard.ts";
import { stringFunctions } from "../functions/strings.ts";
import { compileSource } from "../program.ts";
import { issueText } from "../syntax/issue.ts";
import { defineFunction, defineOverload } from "./function-declarations.ts";
import { defineEnvironment } from "./environment.ts";
import { listOf, mapOf, objectType, types, typeText } from "./cel-types.ts";
import type { Type } from "./cel-types.ts";

const { string, int, bool, double, dyn, timestamp } = types;
const cookie = objectType("cookie", { name: string, value: string, secure: bool, expires: timestamp });
const declared: Readonly<Record<string, Type>> = {
  "req.method": string,
  "req.url": string,
  "req.url.path": string,
  "req.headers": mapOf(string, listOf(string)),
  "req.cookies": mapOf(string, listOf(cookie)),
  "res.status_code": int,
  "conn.client_ip": string,
  "conn.client_ip.categories": listOf(string),
  "conn.client_ip.as.number": int,
  "conn.geo.latitude": double,
  vars: mapOf(string, dyn),
};
const environment = defineEnvironment({
  variables: Object.fromEntries(
    Object.entries(declared).map(([name, type]) => [name, { type, read: () => undefined }]),
  ),
  functions: [
    ...standardFunctions,
    ...stringFunctions,
    ...listFunctions,
    defineFunction(
      "getReqHeader",
      defineOverload("get_req_header", [string], listOf(string), () => []),
    ),
    defineFunction(
      "base64.encode",
      defineOverload("base64_encode", [types.bytes], string, () => ""),
    ),
  ],
});

const typed: readonly (readonly [source: string, type: string])[] = [
  ["conn.client_ip", "string"],
  ["conn.client_ip.categories", "list(string)"],
  ["conn.client_ip.as.number", "int"],
  ["req.url.path + req.url", "string"],
  ["req.headers['x'][0]", "string"],
  ["req.headers.accept", "list(string)"],
  ["req.cookies['sid'][0].expires.getFullYear()", "int"],
  ["vars.n", "dyn"],
  ["vars.list.map(x, x + 1)", "list(int)"],
  ["vars.a['b'][0]", "dyn"],
  ["[1] + vars.list", "list(dyn)"],
  ["getReqHeader('a').filter(v, v != '')", "list(string)"],
  ["base64.encode(b'a').size()", "int"],
  ["{'a': 1, 'b': 2}.map(k, k.size() > 1)", "list(bool)"],
  ["[1, 'a']", "list(dyn)"],
  ["has(conn.client_ip.categories) && has(vars['x'])", "bool"],
  ["[3, 1, 2].sortBy(x, -x)", "list(int)"],
  ["true ? [] : ['a']", "list(string)"],
];

const refused: readonly (readonly [source: string, text: RegExp])[] = [
  [
    "req.headers['x'] == 'gold'",
    /^line 1, column 18: == does not take a list of strings and a string; `req\.headers\['x'\]` is a list of strings; did you mean `req\.headers\['x'\]\[0\] == 'gold'` or `'gold' in req\.headers\['x'\]`\?$/,
  ],
  [
    "res.status_code < '200'",
    /column 17: < does not take an int and a string; `res\.status_code` is an int: write 200 without quotes$/,
  ],
  ["req.url.path", /column 1: this must be a bool, it is a string; compare it, as in … == 'text'$/],
  ["getReqHeader('a')", /must be a bool, it is a list of strings; ask for its size/],
  ["req.url.path.includes('/a')", /column 14: there is no function "includes"; did you mean "contains"\?$/],
  ["req.url.path.starts_with('/a')", /there is no function "starts_with"; did you mean "startsWith"\?$/],
  ["req.path == '/'", /column 1: there is no "req\.path"; did you mean "req\.url\.path"\?$/],
  ["req.metod == 'GET'", /there is no "req\.metod"; did you mean "req\.method"\?$/],
  ["getReqHeaders('x').size() > 0", /no function "getReqHeaders"; did you mean "getReqHeader"\?$/],
  [
    "res.status_code.startsWith('2')",
    /column 17: an int has no startsWith\(a string\); known: string\.startsWith\(string\)$/,
  ],
  ["getReqHeader(1).size() > 0", /there is no getReqHeader\(an int\); known: getReqHeader\(string\)$/],
  ["req.cookies['a'][0].sekure", /column 21: a cookie has no field "sekure"; did you mean "secure"\?$/],
  ["conn.geo.latitude == 1", /== does not take a double and an int; write double\(…\)/],
  ["res.status_code in '200'", /in does not take an int and a string/],
  ["'a' in 'abc'", /write `'abc'\.contains\('a'\)` to look for a part of a string$/],
  ["req.method.matches('(')", /column 20: the regular expression cannot be read/],
  ["timestamp('tomorrow') == timestamp(0)", /column 11: a timestamp is written as in/],
  ["[1].all(x, x)", /column 12: this must be a bool, it is an int/],
  ["req.method.all(x, true)", /column 1: all needs a list or a map, but this is a string$/],
  ["[1, 2].all(i, v, i < v)", /there is no function "all"; all takes other arguments: list\.all\(x, …\)$/],
  ["x.y.z", /column 1: there is no "x\.y\.z"$/],
  [
    "constructor == null || __proto__ == null || vars.hasOwnProperty('x')",
    /"constructor".*\n.*"__proto__".*\n.*"hasOwnProperty"/,
  ],
];

describe("checking an expression", () => {
  for (const [source, type] of typed) {
    it(`${source} is of type ${type}`, () => {
      const compiled = compileSource(source, environment);
      assert.ok(compiled.ok, compiled.ok ? "" : compiled.issues.map(issueText).join("\n"));
      assert.equal(typeText(compiled.program.type), type);
    });
  }

  for (const [source, text] of refused) {
    it(`${source} is refused with a suggestion`, () => {
      const compiled = compileSource(source, environment, { result: bool });
      assert.ok(!compiled.ok);
      assert.match(compiled.issues.map(issueText).join("\n"), text);
    });
  }

  it("checking an expression returns all issues in source order", () => {
    const compiled = compileSource("req.metod == 'GET' &&\n  res.status_code < '1' &&\n  nothing()", environment, {
      result: bool,
    });
    assert.ok(!compiled.ok);
    assert.deepEqual(
      compiled.issues.map(({ line, column }) => [line, column]),
      [
        [1, 1],
        [2, 19],
        [3, 3],
      ],
    );
  });

  it("checking an expression limits the number of issues, and does not compare very long names", () => {
    const unknown = Array.from({ length: 500 }, (_, at) => `n${at}`).join(" || ");
    const many = compileSource(unknown, environment, { result: bool });
    assert.equal(many.ok ? 0 : many.issues.length, 20);
    const endless = compileSource(`req.${"x".repeat(4000)}`, environment, { result: bool });
    assert.match(endless.ok ? "" : endless.issues.map(issueText).join(), /there is no "req\.x{59}…"$/);
  });

  it("returns exactly the variables that occur in an expression", () => {
    const compiled = compileSource(
      "req.method == 'GET' && (vars.a == 1 || has(conn.client_ip.categories)) && int == type(1)",
      environment,
    );
    assert.ok(compiled.ok);
    assert.deepEqual([...compiled.program.variables].sort(), ["conn.client_ip.categories", "req.method", "vars"]);
  });

  it("mixes int and double only if the environment allows it", () => {
    const options = { variables: {}, functions: standardFunctions };
    assert.ok(!compileSource("1 < 1.5", defineEnvironment(options)).ok);
    assert.ok(compileSource("1 < 1.5", defineEnvironment({ ...options, mixesNumbers: true })).ok);
  });

  it("looks a name up in its container first, and only outside of it after a dot", () => {
    const variables = Object.fromEntries(
      ["a.b.x", "a.x", "x"].map((name) => [name, { type: string, read: () => name }]),
    );
    const inside = defineEnvironment({ variables, functions: standardFunctions, container: "a.b" });
    const read = (source: string): unknown => {
      const compiled = compileSource(source, inside);
      return compiled.ok && compiled.program.evaluate(undefined);
    };
    assert.deepEqual([read("x"), read(".x"), read("a.x")], ["a.b.x", "x", "a.x"]);
  });
});
