/**
 * Calls of functions whose argument types are certain. Each common form of condition has its own closure, which avoids
 * a call for constant and variable arguments.
 */
import { callNative } from "../checking/function-declarations.ts";
import type { Native } from "../checking/function-declarations.ts";
import type { Result, Run } from "../values/budget.ts";
import type { Value } from "../values/cel-values.ts";
import type { CelFailure } from "../values/cel-failure.ts";
import { isFailure, locateFailure } from "./part.ts";
import type { Evaluate, CompiledPart } from "./part.ts";

export type Function1 = (one: Value, run: Run) => Result;
export type Function2 = (one: Value, two: Value, run: Run) => Result;
type Function3 = (one: Value, two: Value, three: Value, run: Run) => Result;

export function callDirectly(native: Native, parts: readonly CompiledPart[], at: number): Evaluate {
  const [one, two, three] = parts as [CompiledPart, CompiledPart, CompiledPart];
  switch (parts.length) {
    case 1:
      return ofOne(native as unknown as Function1, one, at);
    case 2:
      return ofTwo(native as unknown as Function2, one, two, at);
    case 3:
      return ofThree(native as unknown as Function3, one.evaluate, two.evaluate, three.evaluate, at);
    default: {
      const args = parts.map(({ evaluate }) => evaluate);
      return (run) => {
        const given = valuesOf(args, run);
        return isFailure(given) ? given : locateFailure(callNative(native, given, run), at);
      };
    }
  }
}

function ofOne(native: Function1, { evaluate, constant }: CompiledPart, at: number): Evaluate {
  if (constant !== undefined) return (run) => locateFailure(native(constant, run), at);
  return (run) => {
    const value = evaluate(run);
    return isFailure(value) ? value : locateFailure(native(value, run), at);
  };
}

function ofTwo(native: Function2, one: CompiledPart, two: CompiledPart, at: number): Evaluate {
  const { constant } = two;
  const first = one.evaluate;
  if (constant === undefined) {
    const second = two.evaluate;
    return (run) => {
      const a = first(run);
      if (isFailure(a)) return a;
      const b = second(run);
      return isFailure(b) ? b : locateFailure(native(a, b, run), at);
    };
  }
  if (one.reading && !one.reading.cost) {
    const { read, zero } = one.reading;
    return (run) => {
      const found = read(run.activation);
      return locateFailure(native(found === undefined ? zero : found, constant, run), at);
    };
  }
  return (run) => {
    const value = first(run);
    return isFailure(value) ? value : locateFailure(native(value, constant, run), at);
  };
}

function ofThree(native: Function3, first: Evaluate, second: Evaluate, third: Evaluate, at: number): Evaluate {
  return (run) => {
    const one = first(run);
    if (isFailure(one)) return one;
    const two = second(run);
    if (isFailure(two)) return two;
    const three = third(run);
    return isFailure(three) ? three : locateFailure(native(one, two, three, run), at);
  };
}

/** Evaluates all arguments. Returns the values or the first failure. */
export function valuesOf(args: readonly Evaluate[], run: Run): Value[] | CelFailure {
  const values: Value[] = [];
  for (const arg of args) {
    const value = arg(run);
    if (isFailure(value)) return value;
    values.push(value);
  }
  return values;
}
