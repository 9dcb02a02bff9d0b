/** The list extension of cel-go: `slice`, `flatten`, `sort`, `distinct`, `lists.range`. `sortBy` is a macro. */
import { define, member, overload } from "../checking/declarations.ts";
import type { FunctionDeclaration } from "../checking/declarations.ts";
import { listHas } from "../values/equal.ts";
import { Failure } from "../values/failure.ts";
import { sortedBy } from "../evaluation/loops.ts";
import type { Result, Run } from "../values/run.ts";
import { listOf, types, variableType } from "../checking/types.ts";
import { int as intOf } from "../values/values.ts";
import type { Value } from "../values/values.ts";

const { int, dyn } = types;
const A = variableType("A");
const list = listOf(A);

type Items = readonly Value[];

function slice(items: Items, start: bigint, end: bigint, run: Run): Result {
  if (start < 0n || end < start || end > BigInt(items.length)) {
    return new Failure(`a list of ${items.length} has no part from ${start} to ${end}`);
  }
  return run.makeItems(Number(end - start)) ?? items.slice(Number(start), Number(end));
}

function flatten(items: Items, depth: bigint, run: Run): Result {
  if (depth < 0n) return new Failure("flatten cannot go less than 0 deep");
  const found: Value[] = [];
  const failure = collect(items, depth > 64n ? 64 : Number(depth), found, run);
  return failure ?? found;
}

function collect(items: Items, depth: number, found: Value[], run: Run): Failure | undefined {
  for (const item of items) {
    const spent = run.spend(1);
    if (spent) return spent;
    if (Array.isArray(item) && depth > 0) {
      const failure = collect(item as Items, depth - 1, found, run);
      if (failure) return failure;
    } else if (found.push(item) > run.limits.items) return run.makeItems(found.length);
  }
  return undefined;
}

function distinct(items: Items, run: Run): Result {
  const found: Value[] = [];
  for (const item of items) {
    const known = listHas(found, item, run);
    if (known instanceof Failure) return known;
    if (known === false) found.push(item);
  }
  return run.makeItems(found.length) ?? found;
}

function range(count: bigint, run: Run): Result {
  if (count < 0n) return [];
  const most = count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(count);
  return run.makeItems(most) ?? Array.from({ length: most }, (_, at) => intOf(at));
}

export const listFunctions: readonly FunctionDeclaration[] = [
  define("slice", member("list_slice", [list, int, int], list, slice)),
  define(
    "flatten",
    member("list_flatten", [listOf(dyn)], listOf(dyn), (items: Items, run: Run) => flatten(items, 1n, run)),
    member("list_flatten_int", [listOf(dyn), int], listOf(dyn), flatten),
  ),
  define(
    "sort",
    member(
      "list_sort",
      [list],
      list,
      (items: Items, run: Run) =>
        run.makeItems(items.length) ??
        sortedBy(
          items.map((item) => ({ key: item, item })),
          run,
        ),
    ),
  ),
  define("distinct", member("list_distinct", [list], list, distinct)),
  define("lists.range", overload("lists_range", [int], listOf(int), range)),
];
