/** `<`, `<=`, `>` and `>=`. */
import { define, overload } from "../checking/declarations.ts";
import type { FunctionDeclaration, Native, Overload } from "../checking/declarations.ts";
import { compare, compareNumbers, equal } from "../values/equal.ts";
import type { Result, Run } from "../values/run.ts";
import { types } from "../checking/types.ts";
import type { Type } from "../checking/types.ts";
import { Failure } from "../values/failure.ts";
import { parseTimestamp } from "../values/time.ts";
import type { Timestamp, Uint, Value } from "../values/values.ts";

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
function comparison(sign: string, name: string, holds: Holds): FunctionDeclaration {
  const general = (a: Value, b: Value, run: Run): Result => {
    const order = compare(a, b, run);
    return typeof order === "number" ? holds(order, 0) : order;
  };
  const ofUints = (a: Uint, b: Uint): Result => holds(a.value, b.value);
  const ofKinds: Readonly<Record<string, Native>> = { int64: holds, double: holds, uint64: ofUints };
  const same = ordered.map(([kind, type]) => overload(`${name}_${kind}`, [type, type], bool, ofKinds[kind] ?? general));
  const others = mixed.map(([[one, first], [other, second]]) =>
    overload(
      `${name}_${one}_${other}`,
      [first, second],
      bool,
      (a: Numeric | Uint, b: Numeric | Uint) => holds(compareNumbers(a, b), 0),
      { mixesNumbers: true },
    ),
  );
  return define(`_${sign}_`, ...same, ...others);
}

const signs: readonly (readonly [sign: string, name: string, holds: Holds])[] = [
  ["<", "less", (a, b) => a < b],
  ["<=", "less_equals", (a, b) => a <= b],
  [">", "greater", (a, b) => a > b],
  [">=", "greater_equals", (a, b) => a >= b],
];

export const comparisons: readonly FunctionDeclaration[] = signs.map(([sign, name, holds]) =>
  comparison(sign, name, holds),
);

/** Compares a text that contains a time with a timestamp, for environments in which JSON times are texts. */
function timeComparison(sign: string, name: string, holds: Holds): FunctionDeclaration {
  const ns = (given: string | Timestamp): bigint | Failure => {
    const at = typeof given === "string" ? parseTimestamp(given) : given;
    return at instanceof Failure ? at : at.ns;
  };
  const evaluate = (one: string | Timestamp, other: string | Timestamp): Result => {
    const [a, b] = [ns(one), ns(other)];
    if (a instanceof Failure) return a;
    return b instanceof Failure ? b : holds(a, b);
  };
  return define(
    `_${sign}_`,
    overload(`${name}_string_timestamp`, [string, timestamp], bool, evaluate),
    overload(`${name}_timestamp_string`, [timestamp, string], bool, evaluate),
  );
}

export const timeComparisons: readonly FunctionDeclaration[] = signs.map(([sign, name, holds]) =>
  timeComparison(sign, name, holds),
);

function mixedEquality(name: string, isNegated: boolean): readonly Overload[] {
  const evaluate = (a: Value, b: Value, run: Run): Result => (equal(a, b, run) === true) !== isNegated;
  return mixed.map(([[one, first], [other, second]]) =>
    overload(`${name}_${one}_${other}`, [first, second], bool, evaluate, { mixesNumbers: true }),
  );
}

/** `1 == 1.0` with known types, for environments that mix numbers. */
export const mixedEqualities: readonly FunctionDeclaration[] = [
  define("_==_", ...mixedEquality("equals", false)),
  define("_!=_", ...mixedEquality("not_equals", true)),
];
