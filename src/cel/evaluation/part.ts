/** Compiled parts of an expression, with properties known at compile time, which make later code cheaper. */
import type { Type } from "../checking/cel-types.ts";
import { CelFailure } from "../values/cel-failure.ts";
import type { Result, Run } from "../values/budget.ts";
import type { Value } from "../values/cel-values.ts";

export type Evaluate = (run: Run) => Result;

export interface CompiledPart {
  readonly evaluate: Evaluate;
  readonly type: Type;
  /** Set if the value is always the same. */
  readonly constant: Value | undefined;
  /** Set for a variable that is used as read and not watched. */
  readonly reading?: Reading | undefined;
}

/** How a variable is read without a closure call, which would cost as much as the read. */
export interface Reading {
  readonly read: (activation: unknown) => Value | undefined;
  /** Value if `read` finds nothing. */
  readonly zero: Value;
  /** Reads one key, if that is cheaper than reading the whole. */
  readonly item: ((activation: unknown, key: string) => Value | undefined) | undefined;
  /** Steps for `read` and `item`; undefined if the step of the call covers them. */
  readonly cost: ((activation: unknown) => number) | undefined;
}

export function constantPart(value: Value, type: Type): CompiledPart {
  return { evaluate: () => value, type, constant: value };
}

export function isFailure(value: Result | readonly Value[]): value is CelFailure {
  return typeof value === "object" && value instanceof CelFailure;
}

/** Adds the position of the failure, unless a more exact one is known. */
export function locateFailure(result: Result, at: number): Result {
  if (typeof result === "object" && result instanceof CelFailure && result.offset < 0) result.offset = at;
  return result;
}

/** Creates a failure at this position. */
export function failureAt(message: string, at: number): CelFailure {
  const failure = new CelFailure(message);
  failure.offset = at;
  return failure;
}
