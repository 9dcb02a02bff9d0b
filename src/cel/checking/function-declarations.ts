/** Declarations of functions, both the language's own and those of environments. */
import type { Result, Run } from "../values/budget.ts";
import type { Type } from "./cel-types.ts";
import type { Value } from "../values/cel-values.ts";

/**
 * Receives the arguments in order, for a member function first its target, and last the current evaluation, which is
 * charged for work that grows with the arguments. Returns a `Failure` if it cannot compute a result. Does not throw.
 */
export type Native = (...given: never[]) => Result;

/** Pays for compile-time work. `spend` throws when the budget is used up. */
export interface Spending {
  spend(steps: number): void;
}

export interface Overload {
  /** Unique among all functions, as in CEL's reference implementation. */
  readonly id: string;
  /** Called as `a.name(b)`. */
  readonly isMember: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  readonly evaluate: Native;
  /**
   * Called once at compile time with the literal arguments. Returns a better `evaluate`, or why a literal is invalid,
   * which becomes an issue. Charges its work to `budget` first, and does not catch what that throws.
   */
  readonly prepare?: (constants: readonly (Value | undefined)[], budget: Spending) => Native | string | undefined;
  /** Equal arguments may give different results, as with `rand.int()`. */
  readonly isVolatile?: boolean;
  /** Compares numbers of different kinds. Applies only if one of them is dyn, or the environment mixes numbers. */
  readonly mixesNumbers?: boolean;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

type Extra = Pick<Overload, "prepare" | "isVolatile" | "mixesNumbers">;

/** `name(a, b)`. */
export function defineOverload(
  id: string,
  parameters: readonly Type[],
  result: Type,
  evaluate: (...given: never[]) => Result,
  extra?: Extra,
): Overload {
  return { id, isMember: false, parameters, result, evaluate, ...extra };
}

/** `a.name(b)`. */
export function defineMember(
  id: string,
  parameters: readonly Type[],
  result: Type,
  evaluate: (...given: never[]) => Result,
  extra?: Extra,
): Overload {
  return { ...defineOverload(id, parameters, result, evaluate, extra), isMember: true };
}

export function defineFunction(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

/** Calls a native function with the arguments that it was declared for. */
export function callNative(native: Native, args: readonly Value[], run: Run): Result {
  return (native as unknown as (...given: readonly unknown[]) => Result)(...args, run);
}
