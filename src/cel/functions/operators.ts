/** Operators of numbers, texts, lists and times. */
import { defineFunction, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration } from "../checking/function-declarations.ts";
import { equalValues, listHas } from "../values/equal.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { hasItem, readIndex, spendKey } from "../evaluation/field-access.ts";
import { mapHas } from "../values/map.ts";
import type { Result, Run } from "../values/budget.ts";
import { makeDuration, makeTimestamp } from "../values/time.ts";
import { listOf, mapOf, types, variableType } from "../checking/cel-types.ts";
import { isInt, isUint, Uint } from "../values/cel-values.ts";
import type { Duration, Timestamp, Value } from "../values/cel-values.ts";

const { bool, int, uint, double, string, bytes, timestamp, duration } = types;
const A = variableType("A");
const B = variableType("B");
const list = listOf(A);

function ofInts(operate: (a: bigint, b: bigint) => bigint) {
  return (a: bigint, b: bigint): Result => {
    const result = operate(a, b);
    return isInt(result) ? result : new CelFailure("the result does not fit an int of 64 bits");
  };
}

function ofUints(operate: (a: bigint, b: bigint) => bigint) {
  return ({ value: a }: Uint, { value: b }: Uint): Result => {
    const result = operate(a, b);
    return isUint(result) ? new Uint(result) : new CelFailure("the result does not fit a uint of 64 bits");
  };
}

type OfInts = (a: bigint, b: bigint) => Result;

/** Division and remainder, which are undefined for zero. */
function unlessZero(operate: OfInts): OfInts {
  return (a, b) => (b === 0n ? new CelFailure("division by zero") : operate(a, b));
}

function unlessZeroUint(operate: (a: bigint, b: bigint) => bigint) {
  const operated = ofUints(operate);
  return (a: Uint, b: Uint): Result => (b.value === 0n ? new CelFailure("division by zero") : operated(a, b));
}

const addInts = (a: bigint, b: bigint): bigint => a + b;
const subtractInts = (a: bigint, b: bigint): bigint => a - b;
const multiplyInts = (a: bigint, b: bigint): bigint => a * b;
const divideInts = (a: bigint, b: bigint): bigint => a / b;
const takeRemainder = (a: bigint, b: bigint): bigint => a % b;

function joinTexts(a: string, b: string, run: Run): Result {
  return run.makeText(a.length + b.length) ?? a + b;
}

function joinBytes(a: Uint8Array, b: Uint8Array, run: Run): Result {
  return run.makeText(a.length + b.length) ?? Buffer.concat([a, b]);
}

function joinLists(a: readonly Value[], b: readonly Value[], run: Run): Result {
  return run.makeItems(a.length + b.length) ?? [...a, ...b];
}

export const operators: readonly FunctionDeclaration[] = [
  defineFunction(
    "_+_",
    defineOverload("add_int64", [int, int], int, ofInts(addInts)),
    defineOverload("add_uint64", [uint, uint], uint, ofUints(addInts)),
    defineOverload("add_double", [double, double], double, (a: number, b: number) => a + b),
    defineOverload("add_string", [string, string], string, joinTexts),
    defineOverload("add_bytes", [bytes, bytes], bytes, joinBytes),
    defineOverload("add_list", [list, list], list, joinLists),
    defineOverload("add_timestamp_duration", [timestamp, duration], timestamp, (a: Timestamp, b: Duration) =>
      makeTimestamp(a.ns + b.ns),
    ),
    defineOverload("add_duration_timestamp", [duration, timestamp], timestamp, (a: Duration, b: Timestamp) =>
      makeTimestamp(a.ns + b.ns),
    ),
    defineOverload("add_duration_duration", [duration, duration], duration, (a: Duration, b: Duration) =>
      makeDuration(a.ns + b.ns),
    ),
  ),
  defineFunction(
    "_-_",
    defineOverload("subtract_int64", [int, int], int, ofInts(subtractInts)),
    defineOverload("subtract_uint64", [uint, uint], uint, ofUints(subtractInts)),
    defineOverload("subtract_double", [double, double], double, (a: number, b: number) => a - b),
    defineOverload("subtract_timestamp_timestamp", [timestamp, timestamp], duration, (a: Timestamp, b: Timestamp) =>
      makeDuration(a.ns - b.ns),
    ),
    defineOverload("subtract_timestamp_duration", [timestamp, duration], timestamp, (a: Timestamp, b: Duration) =>
      makeTimestamp(a.ns - b.ns),
    ),
    defineOverload("subtract_duration_duration", [duration, duration], duration, (a: Duration, b: Duration) =>
      makeDuration(a.ns - b.ns),
    ),
  ),
  defineFunction(
    "_*_",
    defineOverload("multiply_int64", [int, int], int, ofInts(multiplyInts)),
    defineOverload("multiply_uint64", [uint, uint], uint, ofUints(multiplyInts)),
    defineOverload("multiply_double", [double, double], double, (a: number, b: number) => a * b),
  ),
  defineFunction(
    "_/_",
    defineOverload("divide_int64", [int, int], int, unlessZero(ofInts(divideInts))),
    defineOverload("divide_uint64", [uint, uint], uint, unlessZeroUint(divideInts)),
    defineOverload("divide_double", [double, double], double, (a: number, b: number) => a / b),
  ),
  defineFunction(
    "_%_",
    defineOverload("modulo_int64", [int, int], int, unlessZero(ofInts(takeRemainder))),
    defineOverload("modulo_uint64", [uint, uint], uint, unlessZeroUint(takeRemainder)),
  ),
  defineFunction(
    "-_",
    defineOverload("negate_int64", [int], int, (a: bigint) => ofInts(subtractInts)(0n, a)),
    defineOverload("negate_double", [double], double, (a: number) => -a),
  ),
  defineFunction(
    "!_",
    defineOverload("logical_not", [bool], bool, (a: boolean) => !a),
  ),
  // The compiler evaluates the following itself, except for `@in` and `@has`. The declarations are for the checker.
  defineFunction("_==_", defineOverload("equals", [A, A], bool, equalValues)),
  defineFunction(
    "_!=_",
    defineOverload("not_equals", [A, A], bool, (a: Value, b: Value, run: Run) => {
      const same = equalValues(a, b, run);
      return typeof same === "boolean" ? !same : same;
    }),
  ),
  defineFunction(
    "_?_:_",
    defineOverload("conditional", [bool, A, A], A, (a: boolean, b: Value, c: Value) => (a ? b : c)),
  ),
  defineFunction(
    "_[_]",
    defineOverload("index_list", [list, int], A, (a: Value, b: Value, run: Run) => readIndex(a, b, -1, run)),
    defineOverload("index_map", [mapOf(A, B), A], B, (a: Value, b: Value, run: Run) => readIndex(a, b, -1, run)),
  ),
  defineFunction(
    "@in",
    defineOverload("in_list", [A, list], bool, (a: Value, b: readonly Value[], run: Run) => listHas(b, a, run)),
    defineOverload(
      "in_map",
      [A, mapOf(A, B)],
      bool,
      (a: Value, b: Readonly<Record<string, Value>>, run: Run) => spendKey(a, run) ?? mapHas(b, a),
    ),
  ),
  defineFunction(
    "@has",
    defineOverload("has_list", [list, int], bool, hasItem),
    defineOverload("has_map", [mapOf(A, B), A], bool, hasItem),
  ),
];
