/** Parts of an expression, compiled: what is known of each beforehand, so that what is made of them asks less later. */
import type { Type } from "../checking/types.ts";
import { Failure } from "../values/failure.ts";
import type { Result, Run } from "../values/run.ts";
import type { Value } from "../values/values.ts";

export type Evaluate = (run: Run) => Result;

export interface Part {
  readonly evaluate: Evaluate;
  readonly type: Type;
  /** When it is always the same. */
  readonly constant: Value | undefined;
  /** When it is a variable that is as it was read, and whose value nobody watches. */
  readonly reading?: Reading | undefined;
}

/** How a variable is read without a call in between: on this path each call costs as much as what it does. */
export interface Reading {
  readonly read: (activation: unknown) => Value | undefined;
  /** What it is where `read` finds nothing. */
  readonly zero: Value;
  /** One key of it, where that is less work than to read the whole. */
  readonly item: ((activation: unknown, key: string) => Value | undefined) | undefined;
  /** Steps that `read` and `item` take now; undefined where the step of the call pays for them. */
  readonly cost: ((activation: unknown) => number) | undefined;
}

export function constantPart(value: Value, type: Type): Part {
  return { evaluate: () => value, type, constant: value };
}

export function isFailure(value: Result | readonly Value[]): value is Failure {
  return typeof value === "object" && value instanceof Failure;
}

/** Says where it failed, unless that is known more exactly. */
export function located(result: Result, at: number): Result {
  if (typeof result === "object" && result instanceof Failure && result.offset < 0) result.offset = at;
  return result;
}

/** A failure of this place. */
export function failureAt(message: string, at: number): Failure {
  const failure = new Failure(message);
  failure.offset = at;
  return failure;
}
