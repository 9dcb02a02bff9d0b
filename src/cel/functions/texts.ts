/** CEL's standard functions of texts, and `size`. */
import { defineFunction, defineMember, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration, Native, Spending } from "../checking/function-declarations.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { mapSize } from "../values/map.ts";
import { compilePattern, findsMatch, patternOf, patternSteps } from "../values/regex.ts";
import type { Result, Run } from "../values/budget.ts";
import { listOf, mapOf, types, variableType } from "../checking/cel-types.ts";
import { toInt as intOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

const { bool, int, string, bytes } = types;
const list = listOf(variableType("A"));
const map = mapOf(variableType("A"), variableType("B"));

/** Counts code points. */
function textSize(text: string, run: Run): Result {
  const { length } = text;
  const spent = run.spendText(2 * length);
  if (spent) return spent;
  let pairs = 0;
  for (let at = 0; at < length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd8_00 || unit > 0xdb_ff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc_00 && next <= 0xdf_ff) pairs += 1;
  }
  return intOf(length - pairs);
}

const itemCount = (items: readonly Value[] | Uint8Array): Result => intOf(items.length);

function entryCount(entries: Readonly<Record<string, Value>>, run: Run): Result {
  const count = mapSize(entries);
  return run.spendItems(4 * count) ?? intOf(count);
}

function containsText(text: string, part: string, run: Run): Result {
  return run.spendSearch(text.length, part.length) ?? text.includes(part);
}

/** Comparing a short part costs less than the step of the call. */
function startsWith(text: string, part: string, run: Run): Result {
  const spent = part.length > 64 ? run.spendText(part.length) : undefined;
  return spent ?? text.startsWith(part);
}

function endsWith(text: string, part: string, run: Run): Result {
  const spent = part.length > 64 ? run.spendText(part.length) : undefined;
  return spent ?? text.endsWith(part);
}

function matchesText(text: string, pattern: string, run: Run): Result {
  const compiled = patternOf(pattern, run);
  return compiled instanceof CelFailure ? compiled : findsMatch(compiled, text, run);
}

/** A literal pattern is compiled with the expression. */
function preparePattern([, pattern]: readonly (Value | undefined)[], budget: Spending): Native | string | undefined {
  if (typeof pattern !== "string") return undefined;
  budget.spend(patternSteps(pattern));
  const compiled = compilePattern(pattern);
  if (typeof compiled === "string") return compiled;
  return (text: string, _pattern: string, run: Run) => findsMatch(compiled, text, run);
}

export const texts: readonly FunctionDeclaration[] = [
  defineFunction(
    "size",
    defineOverload("size_string", [string], int, textSize),
    defineMember("string_size", [string], int, textSize),
    defineOverload("size_bytes", [bytes], int, itemCount),
    defineMember("bytes_size", [bytes], int, itemCount),
    defineOverload("size_list", [list], int, itemCount),
    defineMember("list_size", [list], int, itemCount),
    defineOverload("size_map", [map], int, entryCount),
    defineMember("map_size", [map], int, entryCount),
  ),
  defineFunction("contains", defineMember("contains_string", [string, string], bool, containsText)),
  defineFunction("startsWith", defineMember("starts_with_string", [string, string], bool, startsWith)),
  defineFunction("endsWith", defineMember("ends_with_string", [string, string], bool, endsWith)),
  defineFunction(
    "matches",
    defineOverload("matches", [string, string], bool, matchesText, { prepare: preparePattern }),
    defineMember("matches_string", [string, string], bool, matchesText, { prepare: preparePattern }),
  ),
];
