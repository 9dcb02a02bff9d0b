/** `rand.double()` and `rand.int(min, max)`. */
import { define, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/declarations.ts";
import { types } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { PolicyContext } from "../language/context.ts";

const { int, double } = types;
const extra = { isVolatile: true } as const;

function random(run: Run): number {
  return (run.activation as PolicyContext).place.services.random();
}

/** Both ends included. */
function between(least: bigint, most: bigint, run: Run): Result {
  if (most < least) return new Failure(`no number is in the range ${least} to ${most}`);
  const count = most - least + 1n;
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) return new Failure("the range of rand.int is too wide");
  return least + BigInt(Math.floor(random(run) * Number(count)));
}

export const randomFunctions: readonly FunctionDeclaration[] = [
  define("rand.double", overload("rand_double", [], double, random, extra)),
  define(
    "rand.int",
    overload("rand_int", [], int, (run: Run) => between(0n, 1n, run), extra),
    overload("rand_int_min", [int], int, (least: bigint, run: Run) => between(least, 1n, run), extra),
    overload("rand_int_min_max", [int, int], int, between, extra),
  ),
];
