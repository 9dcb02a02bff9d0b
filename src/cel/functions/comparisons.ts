/** `<`, `<=`, `>` and `>=`. */
import { defineFunction, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration, Native, Overload } from "../checking/function-declarations.ts";
import { compareValues, compareNumbers, equalValues } from "../values/equal.ts";
import type { Result, Run } from "../values/budget.ts";
import { types } from "../checking/cel-types.ts";
import type { Type } from "../checking/cel-types.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { parseTimestamp } from "../values/time.ts";
import type { Timestamp, Uint, Value } from "../values/cel-values.ts";

const { bool, int, uint, double, string, bytes, timestamp, duration } = types;

const ordered: readonly (readonly [name: string, type: Type])[] = [
  ["bool", bool],
  ["int64", int],
  ["uint64", uint],
  ["double", double],
  ["string", string],
  ["bytes", bytes],
  ["timestamp", timestamp],
  ["duration", duration],
];
const numbers = ordered.filter(([name]) => ["int64", "uint64", "double"].includes(name));
const mixed = numbers.flatMap((one) => numbers.filter((other) => other !== one).map((other) => [one, other] as const));

type Numeric = number | bigint;
/** For numbers of one kind: whether the difference, compared with 0, satisfies the operator. */
type Holds = (a: Numeric, b: Numeric) => boolean;

/** False for NaN, which is unordered. */
function declareComparison(sign: string, name: string, holds: Holds): FunctionDeclaration {
  const general = (a: Value, b: Value, run: Run): Result => {
    const order = compareValues(a, b, run);
    return typeof order === "number" ? holds(order, 0) : order;
  };
  const ofUints = (a: Uint, b: Uint): Result => holds(a.value, b.value);
  const ofKinds: Readonly<Record<string, Native>> = { int64: holds, double: holds, uint64: ofUints };
  const same = ordered.map(([kind, type]) =>
    defineOverload(`${name}_${kind}`, [type, type], bool, ofKinds[kind] ?? general),
  );
  const others = mixed.map(([[one, first], [other, second]]) =>
    defineOverload(
      `${name}_${one}_${other}`,
      [first, second],
      bool,
      (a: Numeric | Uint, b: Numeric | Uint) => holds(compareNumbers(a, b), 0),
      { mixesNumbers: true },
    ),
  );
  return defineFunction(`_${sign}_`, ...same, ...others);
}

const signs: readonly (readonly [sign: string, name: string, holds: Holds])[] = [
  ["<", "less", (a, b) => a < b],
  ["<=", "less_equals", (a, b) => a <= b],
  [">", "greater", (a, b) => a > b],
  [">=", "greater_equals", (a, b) => a >= b],
];

export const comparisons: readonly FunctionDeclaration[] = signs.map(([sign, name, holds]) =>
  declareComparison(sign, name, holds),
);

/** Compares a text that contains a time with a timestamp, for environments in which JSON times are texts. */
function timeComparison(sign: string, name: string, holds: Holds): FunctionDeclaration {
  const ns = (time: string | Timestamp): bigint | CelFailure => {
    const at = typeof time === "string" ? parseTimestamp(time) : time;
    return at instanceof CelFailure ? at : at.ns;
  };
  const evaluate = (one: string | Timestamp, other: string | Timestamp): Result => {
    const [a, b] = [ns(one), ns(other)];
    if (a instanceof CelFailure) return a;
    return b instanceof CelFailure ? b : holds(a, b);
  };
  return defineFunction(
    `_${sign}_`,
    defineOverload(`${name}_string_timestamp`, [string, timestamp], bool, evaluate),
    defineOverload(`${name}_timestamp_string`, [timestamp, string], bool, evaluate),
  );
}

export const timeComparisons: readonly FunctionDeclaration[] = signs.map(([sign, name, holds]) =>
  timeComparison(sign, name, holds),
);

function declareMixedEquality(name: string, isNegated: boolean): readonly Overload[] {
  const evaluate = (a: Value, b: Value, run: Run): Result => (equalValues(a, b, run) === true) !== isNegated;
  return mixed.map(([[one, first], [other, second]]) =>
    defineOverload(`${name}_${one}_${other}`, [first, second], bool, evaluate, { mixesNumbers: true }),
  );
}

/** `1 == 1.0` with known types, for environments that mix numbers. */
export const mixedEqualities: readonly FunctionDeclaration[] = [
  defineFunction("_==_", ...declareMixedEquality("equals", false)),
  defineFunction("_!=_", ...declareMixedEquality("not_equals", true)),
];
