/** `int(x)`, `string(x)` and the others. */
import { isUtf8 } from "node:buffer";
import { defineFunction, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration } from "../checking/function-declarations.ts";
import { CelFailure } from "../values/cel-failure.ts";
import type { Result, Run } from "../values/budget.ts";
import {
  durationText,
  makeDuration,
  makeTimestamp,
  parseDuration,
  parseTimestamp,
  timestampText,
} from "../values/time.ts";
import { types, typeOf, variableType } from "../checking/cel-types.ts";
import { isInt, isUint, kindOf, typeNameOf, TypeValue, Uint } from "../values/cel-values.ts";
import type { Duration, Timestamp, Value } from "../values/cel-values.ts";

const { bool, int, uint, double, string, bytes, timestamp, duration, dyn } = types;
const A = variableType("A");
const returnUnchanged = (value: Value): Value => value;

function toInt(value: bigint): Result {
  return isInt(value) ? value : new CelFailure("the number does not fit an int of 64 bits");
}

function toUint(value: bigint): Result {
  return isUint(value) ? new Uint(value) : new CelFailure("the number does not fit a uint of 64 bits");
}

/** Rounds towards zero. The smallest int is excluded, because no double is adjacent to it. */
function intOfDouble(value: number): Result {
  const isInside = value > -(2 ** 63) && value < 2 ** 63;
  return isInside ? BigInt(Math.trunc(value)) : new CelFailure("the number does not fit an int of 64 bits");
}

function uintOfDouble(value: number): Result {
  const isInside = value > -1 && value < 2 ** 64;
  return isInside ? new Uint(BigInt(Math.trunc(value))) : new CelFailure("the number does not fit a uint of 64 bits");
}

function intOfText(text: string): Result {
  return /^[+-]?\d{1,20}$/.test(text) ? toInt(BigInt(text.replace(/^\+/, ""))) : notA("an int");
}

function uintOfText(text: string): Result {
  return /^\d{1,20}$/.test(text) ? toUint(BigInt(text)) : notA("a uint");
}

const notNumbers: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  "+inf": Number.POSITIVE_INFINITY,
  "+infinity": Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  "-infinity": Number.NEGATIVE_INFINITY,
};

function parseDouble(text: string): Result {
  const special = text.length < 10 ? text.toLowerCase() : "";
  if (Object.hasOwn(notNumbers, special)) return notNumbers[special] as number;
  const isNumber = text.length < 400 && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  return isNumber ? Number(text) : notA("a double");
}

const truths: ReadonlySet<string> = new Set(["1", "t", "true", "TRUE", "True"]);
const untruths: ReadonlySet<string> = new Set(["0", "f", "false", "FALSE", "False"]);

function boolOfText(text: string): Result {
  if (text.length > 5) return notA("a bool");
  return truths.has(text) || (untruths.has(text) ? false : notA("a bool"));
}

function notA(what: string): CelFailure {
  return new CelFailure(`the text cannot be read as ${what}`);
}

function bytesOfText(text: string, run: Run): Result {
  return run.makeText(text.length) ?? Buffer.from(text, "utf8");
}

function textOfBytes(value: Uint8Array, run: Run): Result {
  const failed = run.makeText(value.length);
  if (failed) return failed;
  if (!isUtf8(value)) return new CelFailure("the bytes are not UTF-8");
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
}

/** A literal that is not a valid time is a compile-time issue. */
function parseLiteral(parse: (text: string) => Result) {
  return ([text]: readonly (Value | undefined)[]): string | undefined => {
    const found = typeof text === "string" ? parse(text) : undefined;
    return found instanceof CelFailure ? found.message : undefined;
  };
}

export const conversions: readonly FunctionDeclaration[] = [
  defineFunction(
    "int",
    defineOverload("int64_to_int64", [int], int, returnUnchanged),
    defineOverload("uint64_to_int64", [uint], int, ({ value }: Uint) => toInt(value)),
    defineOverload("double_to_int64", [double], int, intOfDouble),
    defineOverload("string_to_int64", [string], int, intOfText),
    defineOverload("timestamp_to_int64", [timestamp], int, ({ ns }: Timestamp) => {
      const second = 1_000_000_000n;
      return (ns - (((ns % second) + second) % second)) / second;
    }),
    defineOverload("duration_to_int64", [duration], int, ({ ns }: Duration) => ns),
  ),
  defineFunction(
    "uint",
    defineOverload("uint64_to_uint64", [uint], uint, returnUnchanged),
    defineOverload("int64_to_uint64", [int], uint, toUint),
    defineOverload("double_to_uint64", [double], uint, uintOfDouble),
    defineOverload("string_to_uint64", [string], uint, uintOfText),
  ),
  defineFunction(
    "double",
    defineOverload("double_to_double", [double], double, returnUnchanged),
    defineOverload("int64_to_double", [int], double, (value: bigint) => Number(value)),
    defineOverload("uint64_to_double", [uint], double, ({ value }: Uint) => Number(value)),
    defineOverload("string_to_double", [string], double, parseDouble),
  ),
  defineFunction(
    "bool",
    defineOverload("bool_to_bool", [bool], bool, returnUnchanged),
    defineOverload("string_to_bool", [string], bool, boolOfText),
  ),
  defineFunction(
    "bytes",
    defineOverload("bytes_to_bytes", [bytes], bytes, returnUnchanged),
    defineOverload("string_to_bytes", [string], bytes, bytesOfText),
  ),
  defineFunction(
    "string",
    defineOverload("string_to_string", [string], string, returnUnchanged),
    defineOverload("bool_to_string", [bool], string, (value: boolean) => String(value)),
    defineOverload("int64_to_string", [int], string, (value: bigint) => String(value)),
    defineOverload("uint64_to_string", [uint], string, ({ value }: Uint) => String(value)),
    defineOverload("double_to_string", [double], string, (value: number) => String(value)),
    defineOverload("bytes_to_string", [bytes], string, textOfBytes),
    defineOverload("timestamp_to_string", [timestamp], string, timestampText),
    defineOverload("duration_to_string", [duration], string, durationText),
  ),
  defineFunction(
    "timestamp",
    defineOverload("timestamp_to_timestamp", [timestamp], timestamp, returnUnchanged),
    defineOverload("string_to_timestamp", [string], timestamp, parseTimestamp, {
      prepare: parseLiteral(parseTimestamp),
    }),
    defineOverload("int64_to_timestamp", [int], timestamp, (seconds: bigint) =>
      makeTimestamp(seconds * 1_000_000_000n),
    ),
  ),
  defineFunction(
    "duration",
    defineOverload("duration_to_duration", [duration], duration, returnUnchanged),
    defineOverload("string_to_duration", [string], duration, parseDuration, { prepare: parseLiteral(parseDuration) }),
    defineOverload("int64_to_duration", [int], duration, (ns: bigint) => makeDuration(ns)),
  ),
  defineFunction("dyn", defineOverload("to_dyn", [A], dyn, returnUnchanged)),
  defineFunction(
    "type",
    defineOverload("type", [A], typeOf(A), (value: Value) => new TypeValue(typeNameOf(kindOf(value)))),
  ),
];
