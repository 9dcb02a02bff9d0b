/** The list extension of cel-go: `slice`, `flatten`, `sort`, `distinct`, `lists.range`. `sortBy` is a macro. */
import { defineFunction, defineMember, defineOverload } from "../checking/function-declarations.ts";
import type { FunctionDeclaration } from "../checking/function-declarations.ts";
import { listHas } from "../values/equal.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { sortByKeys } from "../evaluation/loops.ts";
import type { Result, Run } from "../values/budget.ts";
import { listOf, types, variableType } from "../checking/cel-types.ts";
import { toInt as intOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

const { int, dyn } = types;
const A = variableType("A");
const list = listOf(A);

type Items = readonly Value[];

function sliceList(items: Items, start: bigint, end: bigint, run: Run): Result {
  if (start < 0n || end < start || end > BigInt(items.length)) {
    return new CelFailure(`a list of ${items.length} has no part from ${start} to ${end}`);
  }
  return run.makeItems(Number(end - start)) ?? items.slice(Number(start), Number(end));
}

function flattenList(items: Items, depth: bigint, run: Run): Result {
  if (depth < 0n) return new CelFailure("flatten cannot go less than 0 deep");
  const found: Value[] = [];
  const failure = collectItems(items, depth > 64n ? 64 : Number(depth), found, run);
  return failure ?? found;
}

function collectItems(items: Items, depth: number, found: Value[], run: Run): CelFailure | undefined {
  for (const item of items) {
    const spent = run.spend(1);
    if (spent) return spent;
    if (Array.isArray(item) && depth > 0) {
      const failure = collectItems(item as Items, depth - 1, found, run);
      if (failure) return failure;
    } else if (found.push(item) > run.limits.items) return run.makeItems(found.length);
  }
  return undefined;
}

function removeDuplicates(items: Items, run: Run): Result {
  const found: Value[] = [];
  for (const item of items) {
    const known = listHas(found, item, run);
    if (known instanceof CelFailure) return known;
    if (known === false) found.push(item);
  }
  return run.makeItems(found.length) ?? found;
}

function makeRange(count: bigint, run: Run): Result {
  if (count < 0n) return [];
  const most = count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(count);
  return run.makeItems(most) ?? Array.from({ length: most }, (_, at) => intOf(at));
}

export const listFunctions: readonly FunctionDeclaration[] = [
  defineFunction("slice", defineMember("list_slice", [list, int, int], list, sliceList)),
  defineFunction(
    "flatten",
    defineMember("list_flatten", [listOf(dyn)], listOf(dyn), (items: Items, run: Run) => flattenList(items, 1n, run)),
    defineMember("list_flatten_int", [listOf(dyn), int], listOf(dyn), flattenList),
  ),
  defineFunction(
    "sort",
    defineMember(
      "list_sort",
      [list],
      list,
      (items: Items, run: Run) =>
        run.makeItems(items.length) ??
        sortByKeys(
          items.map((item) => ({ key: item, item })),
          run,
        ),
    ),
  ),
  defineFunction("distinct", defineMember("list_distinct", [list], list, removeDuplicates)),
  defineFunction("lists.range", defineOverload("lists_range", [int], listOf(int), makeRange)),
];
