/** Operators of numbers, texts, lists and times. */
import { define, overload } from "../checking/declarations.ts";
import type { FunctionDeclaration } from "../checking/declarations.ts";
import { equal, listHas } from "../values/equal.ts";
import { Failure } from "../values/failure.ts";
import { hasItem, index, spendKey } from "../evaluation/fields.ts";
import { mapHas } from "../values/map.ts";
import type { Result, Run } from "../values/run.ts";
import { makeDuration, makeTimestamp } from "../values/time.ts";
import { listOf, mapOf, types, variableType } from "../checking/types.ts";
import { isInt, isUint, Uint } from "../values/values.ts";
import type { Duration, Timestamp, Value } from "../values/values.ts";

const { bool, int, uint, double, string, bytes, timestamp, duration } = types;
const A = variableType("A");
const B = variableType("B");
const list = listOf(A);

function ofInts(operate: (a: bigint, b: bigint) => bigint) {
  return (a: bigint, b: bigint): Result => {
    const result = operate(a, b);
    return isInt(result) ? result : new Failure("the result does not fit an int of 64 bits");
  };
}

function ofUints(operate: (a: bigint, b: bigint) => bigint) {
  return ({ value: a }: Uint, { value: b }: Uint): Result => {
    const result = operate(a, b);
    return isUint(result) ? new Uint(result) : new Failure("the result does not fit a uint of 64 bits");
  };
}

type OfInts = (a: bigint, b: bigint) => Result;

/** Division and remainder, which are undefined for zero. */
function unlessZero(operate: OfInts): OfInts {
  return (a, b) => (b === 0n ? new Failure("division by zero") : operate(a, b));
}

function unlessZeroUint(operate: (a: bigint, b: bigint) => bigint) {
  const operated = ofUints(operate);
  return (a: Uint, b: Uint): Result => (b.value === 0n ? new Failure("division by zero") : operated(a, b));
}

const add = (a: bigint, b: bigint): bigint => a + b;
const subtract = (a: bigint, b: bigint): bigint => a - b;
const multiply = (a: bigint, b: bigint): bigint => a * b;
const divide = (a: bigint, b: bigint): bigint => a / b;
const remainder = (a: bigint, b: bigint): bigint => a % b;

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
  define(
    "_+_",
    overload("add_int64", [int, int], int, ofInts(add)),
    overload("add_uint64", [uint, uint], uint, ofUints(add)),
    overload("add_double", [double, double], double, (a: number, b: number) => a + b),
    overload("add_string", [string, string], string, joinTexts),
    overload("add_bytes", [bytes, bytes], bytes, joinBytes),
    overload("add_list", [list, list], list, joinLists),
    overload("add_timestamp_duration", [timestamp, duration], timestamp, (a: Timestamp, b: Duration) =>
      makeTimestamp(a.ns + b.ns),
    ),
    overload("add_duration_timestamp", [duration, timestamp], timestamp, (a: Duration, b: Timestamp) =>
      makeTimestamp(a.ns + b.ns),
    ),
    overload("add_duration_duration", [duration, duration], duration, (a: Duration, b: Duration) =>
      makeDuration(a.ns + b.ns),
    ),
  ),
  define(
    "_-_",
    overload("subtract_int64", [int, int], int, ofInts(subtract)),
    overload("subtract_uint64", [uint, uint], uint, ofUints(subtract)),
    overload("subtract_double", [double, double], double, (a: number, b: number) => a - b),
    overload("subtract_timestamp_timestamp", [timestamp, timestamp], duration, (a: Timestamp, b: Timestamp) =>
      makeDuration(a.ns - b.ns),
    ),
    overload("subtract_timestamp_duration", [timestamp, duration], timestamp, (a: Timestamp, b: Duration) =>
      makeTimestamp(a.ns - b.ns),
    ),
    overload("subtract_duration_duration", [duration, duration], duration, (a: Duration, b: Duration) =>
      makeDuration(a.ns - b.ns),
    ),
  ),
  define(
    "_*_",
    overload("multiply_int64", [int, int], int, ofInts(multiply)),
    overload("multiply_uint64", [uint, uint], uint, ofUints(multiply)),
    overload("multiply_double", [double, double], double, (a: number, b: number) => a * b),
  ),
  define(
    "_/_",
    overload("divide_int64", [int, int], int, unlessZero(ofInts(divide))),
    overload("divide_uint64", [uint, uint], uint, unlessZeroUint(divide)),
    overload("divide_double", [double, double], double, (a: number, b: number) => a / b),
  ),
  define(
    "_%_",
    overload("modulo_int64", [int, int], int, unlessZero(ofInts(remainder))),
    overload("modulo_uint64", [uint, uint], uint, unlessZeroUint(remainder)),
  ),
  define(
    "-_",
    overload("negate_int64", [int], int, (a: bigint) => ofInts(subtract)(0n, a)),
    overload("negate_double", [double], double, (a: number) => -a),
  ),
  define(
    "!_",
    overload("logical_not", [bool], bool, (a: boolean) => !a),
  ),
  // The compiler evaluates the following itself, except for `@in` and `@has`. The declarations are for the checker.
  define("_==_", overload("equals", [A, A], bool, equal)),
  define(
    "_!=_",
    overload("not_equals", [A, A], bool, (a: Value, b: Value, run: Run) => {
      const same = equal(a, b, run);
      return typeof same === "boolean" ? !same : same;
    }),
  ),
  define(
    "_?_:_",
    overload("conditional", [bool, A, A], A, (a: boolean, b: Value, c: Value) => (a ? b : c)),
  ),
  define(
    "_[_]",
    overload("index_list", [list, int], A, (a: Value, b: Value, run: Run) => index(a, b, -1, run)),
    overload("index_map", [mapOf(A, B), A], B, (a: Value, b: Value, run: Run) => index(a, b, -1, run)),
  ),
  define(
    "@in",
    overload("in_list", [A, list], bool, (a: Value, b: readonly Value[], run: Run) => listHas(b, a, run)),
    overload(
      "in_map",
      [A, mapOf(A, B)],
      bool,
      (a: Value, b: Readonly<Record<string, Value>>, run: Run) => spendKey(a, run) ?? mapHas(b, a),
    ),
  ),
  define(
    "@has",
    overload("has_list", [list, int], bool, hasItem),
    overload("has_map", [mapOf(A, B), A], bool, hasItem),
  ),
];
