/** `==`, `!=`, and `in` with a constant list. */
import type { Type } from "../checking/cel-types.ts";
import { equalValues } from "../values/equal.ts";
import { kindOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";
import { isFailure } from "./part.ts";
import type { Evaluate, CompiledPart } from "./part.ts";

/** For strings, ints and bools, whose equality is JavaScript's, also compared with null. */
export function compileEquality([left, right]: readonly CompiledPart[], isNegated: boolean): Evaluate {
  const [one, other] = [left as CompiledPart, right as CompiledPart];
  const kind = plainKind(one.type);
  if (kind === undefined || kind !== plainKind(other.type)) return anyEquality(one, other, isNegated);
  if (other.constant !== undefined) return compileConstantEquality(one, other.constant, isNegated);
  // A constant cannot fail, and the order of evaluation does not matter.
  if (one.constant !== undefined) return compileConstantEquality(other, one.constant, isNegated);
  const first = one.evaluate;
  const second = other.evaluate;
  return (run) => {
    const a = first(run);
    if (isFailure(a)) return a;
    const b = second(run);
    return isFailure(b) ? b : (a === b) !== isNegated;
  };
}

function compileConstantEquality({ evaluate, reading }: CompiledPart, constant: Value, isNegated: boolean): Evaluate {
  if (reading && !reading.cost) {
    const { read, zero } = reading;
    return ({ activation }) => {
      const found = read(activation);
      return ((found === undefined ? zero : found) === constant) !== isNegated;
    };
  }
  return (run) => {
    const value = evaluate(run);
    return isFailure(value) ? value : (value === constant) !== isNegated;
  };
}

function anyEquality(one: CompiledPart, other: CompiledPart, isNegated: boolean): Evaluate {
  const first = one.evaluate;
  const second = other.evaluate;
  return (run) => {
    const a = first(run);
    if (isFailure(a)) return a;
    const b = second(run);
    if (isFailure(b)) return b;
    const same = equalValues(a, b, run);
    return typeof same === "boolean" ? same !== isNegated : same;
  };
}

function plainKind(type: Type): string | undefined {
  if (type.is === "nullable") return plainKind(type.of);
  return type.is === "string" || type.is === "int" || type.is === "bool" ? type.is : undefined;
}

/** `x in ['a', 'b']`, or with ints: one look-up, whatever the length. Returns undefined for other lists. */
export function compileAmongConstants([item, list]: readonly CompiledPart[]): Evaluate | undefined {
  const constant = list?.constant;
  const kind = item && plainKind(item.type);
  if (!item || kind === undefined || !Array.isArray(constant)) return undefined;
  if (!constant.every((one: Value) => kindOf(one) === kind)) return undefined;
  const known: ReadonlySet<unknown> = new Set(constant);
  const { evaluate, reading } = item;
  if (reading && !reading.cost) {
    const { read, zero } = reading;
    return ({ activation }) => {
      const found = read(activation);
      return known.has(found === undefined ? zero : found);
    };
  }
  return (run) => {
    const value = evaluate(run);
    return isFailure(value) ? value : known.has(value);
  };
}
