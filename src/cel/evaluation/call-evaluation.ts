/** Compiles calls: directly where the types determine the function, otherwise by the kinds of the arguments. */
import type { ResolvedCall } from "../checking/checked.ts";
import { callNative } from "../checking/function-declarations.ts";
import type { Native, Overload } from "../checking/function-declarations.ts";
import type { Environment } from "../checking/environment.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { callDirectly, valuesOf } from "./direct.ts";
import type { Function1, Function2 } from "./direct.ts";
import { compileAmongConstants, compileEquality } from "./equality.ts";
import { readIndex, keyIn, keyOf } from "./field-access.ts";
import type { Type } from "../checking/cel-types.ts";
import { kindOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";
import { isFailure, locateFailure } from "./part.ts";
import type { Evaluate, CompiledPart } from "./part.ts";

export function callEvaluation(
  resolved: ResolvedCall,
  parts: readonly CompiledPart[],
  at: number,
  environment: Environment,
): Evaluate {
  const { name, overloads, prepared } = resolved;
  const args = parts.map(({ evaluate }) => evaluate);
  const { quietNulls } = environment;
  switch (name) {
    case "_==_":
      return compileEquality(parts, false);
    case "_!=_":
      return compileEquality(parts, true);
    case "_?_:_":
      return compileConditional(args, at, quietNulls);
    case "_[_]":
      return compileIndexing(parts, at, quietNulls);
    case "@in": {
      const among = compileAmongConstants(parts) ?? (quietNulls ? undefined : keyIn(parts[1], parts[0]));
      if (among) return among;
      break;
    }
    case "@has": {
      const has = quietNulls ? undefined : keyIn(parts[0], parts[1]);
      if (has) return has;
      break;
    }
    case "!_":
      if (parts[0]?.type.is === "bool") return compileNegation(parts[0]);
      break;
    default:
  }
  const quiet = quietNulls ? nullResult(name, overloads) : undefined;
  // The searched value may be null, because a list can contain null.
  const asks = name === "@in" ? secondIsNull : isNullAmong;
  const [only] = overloads;
  if (overloads.length === 1 && only) {
    const native = prepared ?? only.evaluate;
    const given = parts.map(({ type }) => type);
    if (only.parameters.every((wanted, place) => isCertain(wanted, given[place])))
      return callDirectly(native, parts, at);
    const areNullable = only.parameters.every((wanted, place) => isCertain(wanted, unlessNull(given[place])));
    if (quiet !== undefined && areNullable && args.length <= 2) return directOrQuiet(native, args, at, quiet, asks);
  }
  return dispatchCall(resolved, args, at, quiet, asks);
}

type AsksForNull = (one: Value, two: Value | undefined) => boolean;
const isNullAmong: AsksForNull = (one, two) => one === null || two === null;
const secondIsNull: AsksForNull = (_, two) => two === null;

function unlessNull(type: Type | undefined): Type | undefined {
  return type?.is === "nullable" ? type.of : type;
}

/** Whether a value of this type can be passed without a check. */
function isCertain(wanted: Type, type: Type | undefined): boolean {
  if (wanted.is === "variable" || wanted.is === "dyn") return true;
  // Null may stand in for a time, as for a message.
  return type?.is === wanted.is && type.is !== "timestamp" && type.is !== "duration";
}

/** For one or two arguments that have their declared types or are null. */
function directOrQuiet(
  native: Native,
  args: readonly Evaluate[],
  at: number,
  quiet: boolean | null,
  isQuiet: AsksForNull,
): Evaluate {
  const [first, second] = args as [Evaluate, Evaluate | undefined];
  if (!second) {
    const evaluate = native as unknown as Function1;
    return (run) => {
      const one = first(run);
      if (isFailure(one)) return one;
      return one === null ? quiet : locateFailure(evaluate(one, run), at);
    };
  }
  const evaluate = native as unknown as Function2;
  return (run) => {
    const one = first(run);
    if (isFailure(one)) return one;
    const two = second(run);
    if (isFailure(two)) return two;
    return isQuiet(one, two) ? quiet : locateFailure(evaluate(one, two, run), at);
  };
}

function dispatchCall(
  { name, overloads, prepared }: ResolvedCall,
  args: readonly Evaluate[],
  at: number,
  quiet: boolean | null | undefined,
  isQuiet: AsksForNull,
): Evaluate {
  return (run) => {
    const values = valuesOf(args, run);
    if (isFailure(values)) return values;
    if (quiet !== undefined && (isQuiet(values[0] as Value, values[1]) || values[2] === null)) return quiet;
    for (const { parameters, evaluate } of overloads) {
      if (!parameters.every((wanted, place) => acceptsValue(wanted, values[place] as Value))) continue;
      return locateFailure(callNative(prepared ?? evaluate, values, run), at);
    }
    return locateFailure(
      new CelFailure(`${operatorSign(name)} cannot be used on ${values.map(kindOf).join(" and ")}`),
      at,
    );
  };
}

/** Result of a call on null where nulls are quiet. */
function nullResult(name: string, overloads: readonly Overload[]): boolean | null {
  if (name === "!_") return true;
  return overloads.every(({ result }) => result.is === "bool") ? false : null;
}

function acceptsValue(wanted: Type, value: Value): boolean {
  switch (wanted.is) {
    case "dyn":
    case "variable":
    case "opaque":
      return true;
    case "object":
      return kindOf(value) === "map";
    case "nullable":
      return value === null || acceptsValue(wanted.of, value);
    default:
      return kindOf(value) === wanted.is;
  }
}

function compileConditional(
  [condition, then, otherwise]: readonly Evaluate[],
  at: number,
  quietNulls: boolean,
): Evaluate {
  const [ask, yes, no] = [condition, then, otherwise] as [Evaluate, Evaluate, Evaluate];
  return (run) => {
    const answer = ask(run);
    if (answer === true) return yes(run);
    if (answer === false || (quietNulls && answer === null)) return no(run);
    return isFailure(answer) ? answer : locateFailure(new CelFailure("the part before ? must be true or false"), at);
  };
}

function compileIndexing(parts: readonly CompiledPart[], at: number, quietNulls: boolean): Evaluate {
  const [from, key] = parts as [CompiledPart, CompiledPart];
  const keyed = quietNulls ? undefined : keyOf(from, key, at);
  if (keyed) return keyed;
  const first = from.evaluate;
  const second = key.evaluate;
  return (run) => {
    const whole = first(run);
    if (isFailure(whole)) return whole;
    const place = second(run);
    if (isFailure(place)) return place;
    const value = quietNulls && whole === null ? null : readIndex(whole, place, at, run);
    return quietNulls && isFailure(value) && !value.isFinal ? null : value;
  };
}

/** Negates a bool, or passes on a failure. */
function compileNegation({ evaluate }: CompiledPart): Evaluate {
  return (run) => {
    const value = evaluate(run);
    return typeof value === "boolean" ? !value : value;
  };
}

/** An operator in source notation. */
function operatorSign(name: string): string {
  return /^(?:@|_?)([^_@]+)_?$/.exec(name)?.[1] ?? name;
}
