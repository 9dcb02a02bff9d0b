/** Random expressions, evaluated by our implementation and by `@bufbuild/cel` as the oracle. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import {
  celEnv,
  isCelError,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse as parseTheirs,
  plan,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { defineEnvironment } from "../../src/cel/checking/environment.ts";
import { types } from "../../src/cel/checking/cel-types.ts";
import { standardFunctions } from "../../src/cel/functions/standard.ts";
import { stringFunctions } from "../../src/cel/functions/strings.ts";
import { compileSource } from "../../src/cel/program.ts";
import { CelFailure } from "../../src/cel/values/cel-failure.ts";
import { mapGet, mapKeys } from "../../src/cel/values/map.ts";
import { kindOf, TypeValue, Uint } from "../../src/cel/values/cel-values.ts";
import type { Value } from "../../src/cel/values/cel-values.ts";
import { randomExpression } from "./random-expression.ts";

const count = 3000;

const given = {
  i: 7n,
  d: 2.5,
  s: "héllo€",
  t: "a,b,c",
  b: true,
  n: null,
  l: [1n, 2n, 3n],
  ls: ["a", "bc", ""],
  m: { a: 1.5, b: ["x", null], c: { d: "e" } },
};
const theirEnvironment = celEnv({ funcs: strings });
const environment = defineEnvironment({
  variables: Object.fromEntries(
    Object.keys(given).map((name) => [name, { type: types.dyn, read: (all: Record<string, Value>) => all[name] }]),
  ),
  functions: [...standardFunctions, ...stringFunctions],
});
const theirGiven = {
  ...given,
  m: new Map<string, unknown>([
    ["a", 1.5],
    ["b", ["x", null]],
    ["c", new Map([["d", "e"]])],
  ]),
};

/** Returns comparable plain data that includes kinds. */
function ours(value: Value | CelFailure): unknown {
  if (value instanceof CelFailure) return "failed";
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  switch (kindOf(value)) {
    case "list":
      return (value as readonly Value[]).map(ours);
    case "map": {
      const map = value as Readonly<Record<string, Value>>;
      return sorted(mapKeys(map).map((key) => [ours(key), ours(mapGet(map, key) as Value)]));
    }
    case "bytes":
      return `b${Buffer.from(value as Uint8Array).toString("hex")}`;
    case "double":
      return `${Object.is(value, -0) ? 0 : (value as number)}d`;
    default:
      return value;
  }
}

function theirs(value: unknown): unknown {
  if (isCelError(value)) return "failed";
  if (isCelUint(value)) return `${value.value}u`;
  if (isCelType(value)) return `type ${value.name}`;
  if (isCelList(value)) return Array.from(value, theirs);
  if (isCelMap(value)) return sorted(Array.from(value, ([key, one]) => [theirs(key), theirs(one)]));
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  return typeof value === "number" ? `${Object.is(value, -0) ? 0 : String(value)}d` : value;
}

function sorted(entries: readonly (readonly unknown[])[]): unknown {
  return { map: entries.map((entry) => inspect(entry, { depth: 9 })).sort((a, b) => (a < b ? -1 : 1)) };
}

function askThem(source: string): unknown {
  try {
    return theirs(plan(theirEnvironment, parseTheirs(source))(theirGiven as never));
  } catch {
    return "failed";
  }
}

describe("random expressions", () => {
  it(`random expressions have the same value as in @bufbuild/cel, ${count} of them`, () => {
    const differing: string[] = [];
    let values = 0;
    for (let seed = 1; seed <= count; seed += 1) {
      const source = randomExpression(seed);
      const compiled = compileSource(source, environment, { isLoose: true });
      assert.ok(compiled.ok, `${source}: ${compiled.ok ? "" : compiled.issues[0]?.message}`);
      const result = compiled.program.evaluate(given);
      assert.ok(
        !(result instanceof CelFailure && result.message.includes("broke off")),
        `${source}: ${inspect(result)}`,
      );
      const [mine, other] = [ours(result), askThem(source)];
      if (mine !== "failed") values += 1;
      if (inspect(mine, { depth: 9 }) !== inspect(other, { depth: 9 }))
        differing.push(`${source}\n  ours ${inspect(mine)}\n  theirs ${inspect(other)}`);
    }
    assert.equal(differing.length, 0, differing.slice(0, 20).join("\n"));
    assert.ok(values > count / 3, `only ${values} gave a value`);
  });

  it("random expressions that the checker accepts have the same value checked and unchecked", () => {
    let accepted = 0;
    for (let seed = 1; seed <= count; seed += 1) {
      const source = randomExpression(seed);
      const checked = compileSource(source, environment);
      const loose = compileSource(source, environment, { isLoose: true });
      if (!checked.ok || !loose.ok) continue;
      accepted += 1;
      const results = [checked, loose].map(({ program }) => ours(program.evaluate(given)));
      assert.deepEqual(results[0], results[1], source);
      assert.deepEqual(ours(checked.program.explain(given).result), results[0], source);
    }
    assert.ok(accepted > count / 4, `only ${accepted} were accepted`);
  });

  it("random expressions return the same value or exhaust the budget, however small it is", () => {
    let ended = 0;
    for (let seed = 1; seed <= count; seed += 1) {
      const compiled = compileSource(randomExpression(seed), environment, { isLoose: true });
      assert.ok(compiled.ok);
      const whole = compiled.program.evaluate(given);
      const budget = { steps: seed % 40 };
      const bounded = compiled.program.evaluate(given, budget);
      assert.ok(budget.steps >= 0);
      if (bounded instanceof CelFailure && bounded.isFinal) ended += 1;
      else assert.deepEqual(ours(bounded), ours(whole), compiled.program.source);
    }
    assert.ok(ended > count / 20, `only ${ended} were ended`);
  });
});
