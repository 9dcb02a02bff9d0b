import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineFunction, defineMember, defineOverload } from "./checking/function-declarations.ts";
import { defineEnvironment } from "./checking/environment.ts";
import type { Environment, EnvironmentOptions } from "./checking/environment.ts";
import { listOf, mapOf, objectType, types } from "./checking/cel-types.ts";
import { listFunctions } from "./functions/list-functions.ts";
import { standardFunctions } from "./functions/standard.ts";
import { policySplit, stringFunctions } from "./functions/strings.ts";
import { compileSource } from "./program.ts";
import type { Program } from "./program.ts";
import { issueText } from "./syntax/issue.ts";
import { CelFailure } from "./values/cel-failure.ts";
import { MapValue } from "./values/cel-values.ts";
import type { Value } from "./values/cel-values.ts";

const { string, int, bool, dyn, double } = types;

interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly vars: Readonly<Record<string, Value>>;
  readonly sni?: string;
  readonly status?: number;
}

const exchange: Exchange = {
  method: "GET",
  headers: { "x-tier": ["gold"] },
  vars: { n: 5, text: "a", list: [1, 2.5, "x"], map: { a: null } },
};

function environment(options: Partial<EnvironmentOptions> = {}): Environment {
  return defineEnvironment({
    ...options,
    variables: {
      method: { type: string, read: ({ method }: Exchange) => method },
      headers: { type: mapOf(string, listOf(string)), read: ({ headers }: Exchange) => headers },
      vars: { type: mapOf(string, dyn), read: ({ vars }: Exchange) => vars },
      "tls.sni": { type: string, read: ({ sni }: Exchange) => sni },
      status: { type: int, read: ({ status }: Exchange) => status },
      ...options.variables,
    },
    functions: [...standardFunctions, ...stringFunctions, ...listFunctions, ...(options.functions ?? [])],
  });
}

function program(source: string, options: Partial<EnvironmentOptions> = {}): Program {
  const compiled = compileSource(source, environment(options));
  assert.ok(compiled.ok, compiled.ok ? "" : compiled.issues.map(issueText).join("\n"));
  return compiled.program;
}

function evaluate(source: string, options: Partial<EnvironmentOptions> = {}): Value | string {
  const result = program(source, options).evaluate(exchange);
  return result instanceof CelFailure ? `failed: ${result.message}` : result;
}

const results: readonly (readonly [source: string, result: unknown])[] = [
  ["method == 'GET'", true],
  ["headers['x-tier'][0] == 'gold'", true],
  ["headers['x-none'][0] == 'gold'", 'failed: there is no key "x-none"'],
  ["headers['x-none'][0] == 'gold' || method == 'GET'", true],
  ["method == 'GET' || headers['x-none'][0] == 'gold'", true],
  ["headers['x-none'][0] == 'gold' && method == 'POST'", false],
  ["headers['x-tier'][1] == 'gold'", "failed: there is no item 1 in a list of 1"],
  ["tls.sni == '' && !has(tls.sni)", true],
  ["status == 0", true],
  ["vars.n == 5 && vars.n == 5.0 && vars.n == 5u", true],
  ["vars.n + 1.0", 6],
  ["vars.n + 1", "failed: + cannot be used on double and int"],
  ["vars.text + 'b'", "ab"],
  ["vars.text.startsWith(vars.text)", true],
  ["vars.n.startsWith('x')", "failed: startsWith cannot be used on double and string"],
  ["vars.list[0] == 1 && vars.list[2] == 'x'", true],
  ["vars['list'][2].size() == 1", true],
  ["has(vars.map.a) && vars.map.a == null && !has(vars.map.b)", true],
  ["has(vars['n']) && !has(vars['m']) && has(vars.list[2]) && !has(vars.list[3])", true],
  ["vars.none == 1 || true", true],
  ["9223372036854775807 + 1", "failed: the result does not fit an int of 64 bits"],
  ["-9223372036854775808 / -1", "failed: the result does not fit an int of 64 bits"],
  ["18446744073709551615u * 2u", "failed: the result does not fit a uint of 64 bits"],
  ["0u - 1u", "failed: the result does not fit a uint of 64 bits"],
  ["1 / 0", "failed: division by zero"],
  ["1 % 0", "failed: division by zero"],
  ["1.0 / 0.0", Number.POSITIVE_INFINITY],
  ["7 % -3", 1n],
  ["size('😁a') == 2 && '😁a'.charAt(0) == '😁' && 'a😁b'.indexOf('b') == 2", true],
  ["'\\U0001F600' > '\\uFFFB'", true],
  ["'a😁'.reverse()", "😁a"],
  ["'a😁b'.substring(1, 2)", "😁"],
  ["'abc'.replace('', '-')", "-a-b-c-"],
  ["'aXbXc'.replace('X', '', 1)", "abXc"],
  ["'a,b,c'.split(',', 2)", ["a", "b,c"]],
  ["'hello'.charAt(5)", ""],
  ["[1, [2, [3, 4]]].flatten()", [1n, 2n, [3n, 4n]]],
  ["[1, [2, [3, 4]]].flatten(2)", [1n, 2n, 3n, 4n]],
  ["[3, 1, 2].sort()", [1n, 2n, 3n]],
  ["['b', 'a'].sortBy(x, x)", ["a", "b"]],
  ["[1, 1.0, 2u, 'a', 'a'].distinct().size()", 3n],
  ["lists.range(3)", [0n, 1n, 2n]],
  ["[1, 2, 3].slice(1, 3)", [2n, 3n]],
  ["[1, 2].sort() == [1, 2] && [2, 'a'].sort().size() == 2", "failed: these values have no order"],
  ["{'shop': 'store'}['shop']", "store"],
  ["{1: 'a', 2u: 'b'}[2]", "b"],
  ["{'a': 1, 'a': 2}", "failed: a map has a key twice"],
  ["'abc'.matches('^a.c$') && matches('xabcx', 'b') && !'ABC'.matches('abc') && 'ABC'.matches('(?i)abc')", true],
  ["timestamp('2026-01-02T03:04:05.5Z') - duration('1h30m') == timestamp('2026-01-02T01:34:05.5Z')", true],
  ["string(timestamp('2026-01-02T03:04:05.120Z'))", "2026-01-02T03:04:05.12Z"],
  ["string(duration('-1.5s'))", "-1.5s"],
  ["(method == 'GET' ? null : timestamp(0)).getFullYear()", "failed: getFullYear cannot be used on null"],
  ["timestamp('2026-02-30T00:00:00Z')", "issue: the date or time does not exist"],
  ["timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin')", 14n],
  ["timestamp('2026-07-01T12:00:00Z').getHours('Nowhere/At_All')", "failed: the time zone does not exist"],
];

describe("a program", () => {
  for (const [source, result] of results) {
    it(`${source} is ${String(result)}`, () => {
      const issue = /^issue: (.*)$/.exec(String(result))?.[1];
      if (issue === undefined) return assert.deepEqual(evaluate(source), result);
      const compiled = compileSource(source, environment());
      assert.deepEqual(compiled.ok ? [] : compiled.issues.map(({ message }) => message), [issue]);
    });
  }

  it("reads a variable only when it is reached", () => {
    const read: string[] = [];
    const watched = (name: string, value: Value) => ({
      type: bool,
      read: () => {
        read.push(name);
        return value;
      },
    });
    const variables = { a: watched("a", true), b: watched("b", true), c: watched("c", true) };
    assert.equal(evaluate("a || b", { variables }), true);
    assert.deepEqual(read, ["a"]);
    assert.deepEqual([...program("a || b", { variables }).variables].sort(), ["a", "b"]);
  });

  it("resolves the longest declared name, so that a string can have fields", () => {
    const variables = {
      "conn.ip": { type: string, read: () => "192.0.2.1" },
      "conn.ip.as.number": { type: int, read: () => 64_500 },
      "conn.ip.categories": { type: listOf(string), read: () => undefined },
    };
    assert.equal(evaluate("conn.ip == '192.0.2.1' && conn.ip.as.number == 64500", { variables }), true);
    assert.equal(evaluate("conn.ip.categories == [] && !has(conn.ip.categories) && has(conn.ip)", { variables }), true);
  });

  it("a program gives absent declared fields their zero value, and JSON numbers the declared kind", () => {
    const cookie = objectType("cookie", { name: string, secure: bool, size: int, rate: double, sizes: listOf(int) });
    const variables = { cookie: { type: cookie, read: () => ({ name: "sid", size: 7, sizes: [1, 2] }) } };
    assert.equal(evaluate("cookie.name + cookie['name']", { variables }), "sidsid");
    assert.equal(evaluate("cookie.secure || has(cookie.secure) || has(cookie.rate)", { variables }), false);
    assert.equal(evaluate("cookie.size % 4", { variables }), 3n);
    assert.equal(evaluate("cookie.rate", { variables }), 0);
    assert.equal(evaluate("2 in cookie.sizes && cookie.sizes[0] == 1", { variables }), true);
  });

  it("a program sees own keys only: names of prototypes are ordinary keys", () => {
    const vars = JSON.parse('{"__proto__": 1, "a": {}}') as Readonly<Record<string, Value>>;
    const asked = (source: string): unknown => program(source).evaluate({ ...exchange, vars });
    assert.equal(asked("vars.__proto__ == 1 && '__proto__' in vars && size(vars) == 2"), true);
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      assert.equal(asked(`has(vars.a.${name}) || '${name}' in vars.a`), false, name);
      const failed = asked(`vars.a['${name}']`);
      assert.ok(failed instanceof CelFailure && failed.message === `there is no key "${name}"`);
    }
    assert.equal(evaluate("{'__proto__': 1}.__proto__"), 1n);
    for (const source of ["vars.list.length", "vars.text.length", "method.constructor", "vars.n.toFixed"]) {
      const compiled = compileSource(source, environment());
      const failed = compiled.ok ? compiled.program.evaluate(exchange) : new CelFailure("");
      assert.ok(failed instanceof CelFailure, source);
    }
  });

  it("a program accepts maps that look their values up on demand", () => {
    const asked: Value[] = [];
    class Lazy extends MapValue {
      override readonly size = 1;
      override get(key: Value): Value | undefined {
        asked.push(key);
        return key === "a" ? ["1"] : undefined;
      }
      override has(key: Value): boolean {
        return key === "a";
      }
      override keys(): readonly Value[] {
        return ["a"];
      }
    }
    const variables = { lazy: { type: mapOf(string, listOf(string)), read: () => new Lazy() } };
    assert.equal(
      evaluate("lazy.a[0] == '1' && 'a' in lazy && !has(lazy.b) && lazy.exists(k, lazy[k] == ['1'])", { variables }),
      true,
    );
    assert.deepEqual(asked, ["a", "a"]);
    assert.equal(evaluate("lazy == {'a': ['1']}", { variables }), true);
  });

  it("calls functions that the environment adds, and uses a prepared one for literals", () => {
    const calls: string[] = [];
    const functions = [
      defineFunction(
        "greet",
        defineOverload("greet", [string], string, (name: string) => `hello ${name}`, {
          prepare: ([name]) => {
            if (name === "nobody") return "nobody cannot be greeted";
            return name === "you" ? () => "hello, you" : undefined;
          },
        }),
      ),
      defineFunction(
        "twice",
        defineMember("twice", [string], string, (text: string) => text + text),
      ),
      defineFunction(
        "ns.one",
        defineOverload("one", [], int, () => 1n),
      ),
      defineFunction(
        "draw",
        defineOverload("draw", [], int, () => BigInt(calls.push("drawn")), { isVolatile: true }),
      ),
    ];
    assert.equal(evaluate("greet('you').twice()", { functions }), "hello, youhello, you");
    assert.equal(evaluate("greet(method) + string(ns.one())", { functions }), "hello GET1");
    const refused = compileSource("greet('nobody')", environment({ functions }));
    assert.deepEqual(refused.ok ? [] : refused.issues.map(issueText), ["line 1, column 7: nobody cannot be greeted"]);
    const drawing = program("draw() > 0", { functions });
    calls.length = 0;
    drawing.evaluate(exchange);
    drawing.evaluate(exchange);
    assert.equal(calls.length, 2);
  });

  it("lets the environment replace a function of the language", () => {
    const functions = [policySplit];
    assert.deepEqual(evaluate("'a,b,c'.split(',', 2)", { functions }), ["a", "b"]);
    assert.deepEqual(evaluate("' a  b\\t'.split()", { functions }), ["a", "b"]);
    assert.deepEqual(evaluate("'a,b'.split(',', -1)", { functions }), ["a", "b"]);
  });

  it("a program catches exceptions of functions", () => {
    const functions = [
      defineFunction(
        "broken",
        defineOverload("broken", [], bool, () => {
          throw new TypeError("no such thing");
        }),
      ),
    ];
    assert.equal(evaluate("broken() || true", { functions }), "failed: the evaluation broke off: no such thing");
  });

  it("a program can be evaluated during its own evaluation", () => {
    let inner: unknown;
    let again: Program | undefined = undefined as Program | undefined;
    const functions = [
      defineFunction(
        "nested",
        defineOverload(
          "nested",
          [string],
          bool,
          (name: string) => {
            if (name === "outer") inner = again?.evaluate({ ...exchange, method: "inner" });
            return true;
          },
          { isVolatile: true },
        ),
      ),
    ];
    again = program("[1].all(x, nested(method)) && method != ''", { functions });
    assert.equal(again.evaluate({ ...exchange, method: "outer" }), true);
    assert.equal(inner, true);
  });

  it("a program reports where it failed", () => {
    const source = "method == 'GET' && vars.list[7] == 1";
    const failed = program(source).evaluate(exchange);
    assert.ok(failed instanceof CelFailure);
    assert.equal(source.slice(failed.offset, failed.offset + 3), "[7]");
  });

  it("explains the values of its parts, and omits parts that were not reached", () => {
    const { result, parts } = program("method == 'GET' || vars.n > 3 && headers['x'][0] == 'a'").explain(exchange);
    assert.equal(result, true);
    assert.deepEqual(
      parts.map((part) => [part.text, part.result]),
      [
        ["method", "GET"],
        ["method == 'GET'", true],
        ["method == 'GET' || vars.n > 3 && headers['x'][0] == 'a'", true],
      ],
    );
    const failing = program("vars.n == 5 && headers['x'][0] == 'a'").explain(exchange);
    assert.ok(failing.result instanceof CelFailure);
    assert.deepEqual(
      failing.parts.map(({ text, result: one }) => [text, one instanceof CelFailure ? "failed" : one]),
      [
        ["vars", exchange.vars],
        ["vars.n", 5],
        ["vars.n == 5", true],
        ["headers", exchange.headers],
        ["headers['x']", "failed"],
        ["headers['x'][0]", "failed"],
        ["headers['x'][0] == 'a'", "failed"],
        ["vars.n == 5 && headers['x'][0] == 'a'", "failed"],
      ],
    );
  });

  it("explains the same result that it evaluates", () => {
    for (const [source, result] of results) {
      if (String(result).startsWith("issue:")) continue;
      const one = program(source);
      const [plain, explained] = [one.evaluate(exchange), one.explain(exchange).result];
      if (plain instanceof CelFailure) assert.equal((explained as CelFailure).message, plain.message);
      else assert.deepEqual(explained, plain);
    }
  });

  it("a program skips null where nulls are quiet", () => {
    const quiet = { nulls: "quiet" as const };
    assert.equal(evaluate("vars.map.a < 5 || vars.map.a.startsWith('x') || vars.none.deep == 1", quiet), false);
    assert.equal(evaluate("!(vars.map.a < 5) && !vars.none && vars.none == null", quiet), true);
    assert.equal(evaluate("vars.none in [null] && !('a' in vars.none) && !vars.none.exists(x, true)", quiet), true);
    assert.equal(evaluate("vars.map.a ? 1 : 2", quiet), 2n);
  });
});
