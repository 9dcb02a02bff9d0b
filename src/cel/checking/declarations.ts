/** How functions are declared, the language's own and those that readers add. */
import type { Result, Run } from "../values/run.ts";
import type { Type } from "./types.ts";
import type { Value } from "../values/values.ts";

/**
 * The arguments in order, of a member function first what it is called on, and last the evaluation under way, which
 * is told of work that grows with the arguments. Gives a `Failure` for what it cannot do, and throws nothing.
 */
export type Native = (...given: never[]) => Result;

/** Pays for the work of compiling; `spend` throws when nothing is left. */
export interface Spending {
  spend(steps: number): void;
}

export interface Overload {
  /** Names it among all functions, as CEL's reference implementation does. */
  readonly id: string;
  /** Called as `a.name(b)`. */
  readonly isMember: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  readonly evaluate: Native;
  /**
   * Once, when it is compiled, with the arguments that are literals: a better `evaluate`, or why they cannot be what
   * they must, which is an issue then. Pays for its work from `budget` first, and lets what that throws pass.
   */
  readonly prepare?: (constants: readonly (Value | undefined)[], budget: Spending) => Native | string | undefined;
  /** Equal arguments may give different results, e.g. `rand.int()`. */
  readonly isVolatile?: boolean;
  /** Compares numbers of different kinds: only where one of them is dyn, or when the environment mixes numbers. */
  readonly mixesNumbers?: boolean;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

type Extra = Pick<Overload, "prepare" | "isVolatile" | "mixesNumbers">;

/** `name(a, b)`. */
export function overload(
  id: string,
  parameters: readonly Type[],
  result: Type,
  evaluate: (...given: never[]) => Result,
  extra?: Extra,
): Overload {
  return { id, isMember: false, parameters, result, evaluate, ...extra };
}

/** `a.name(b)`. */
export function member(
  id: string,
  parameters: readonly Type[],
  result: Type,
  evaluate: (...given: never[]) => Result,
  extra?: Extra,
): Overload {
  return { ...overload(id, parameters, result, evaluate, extra), isMember: true };
}

export function define(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

/** Calls a native with what it was declared for. */
export function call(native: Native, args: readonly Value[], run: Run): Result {
  return (native as unknown as (...given: readonly unknown[]) => Result)(...args, run);
}
