/** `rand.double()` and `rand.int(min, max)`. */
import { defineFunction, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/function-declarations.ts";
import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import type { PolicyContext } from "../language/policy-context.ts";

const { int, double } = types;
const extra = { isVolatile: true } as const;

function drawFraction(run: Run): number {
  return (run.activation as PolicyContext).place.services.random();
}

/** Both ends included. */
function drawBetween(least: bigint, most: bigint, run: Run): Result {
  if (most < least) return new CelFailure(`no number is in the range ${least} to ${most}`);
  const count = most - least + 1n;
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) return new CelFailure("the range of rand.int is too wide");
  return least + BigInt(Math.floor(drawFraction(run) * Number(count)));
}

export const randomFunctions: readonly FunctionDeclaration[] = [
  defineFunction("rand.double", defineOverload("rand_double", [], double, drawFraction, extra)),
  defineFunction(
    "rand.int",
    defineOverload("rand_int", [], int, (run: Run) => drawBetween(0n, 1n, run), extra),
    defineOverload("rand_int_min", [int], int, (least: bigint, run: Run) => drawBetween(least, 1n, run), extra),
    defineOverload("rand_int_min_max", [int, int], int, drawBetween, extra),
  ),
];
