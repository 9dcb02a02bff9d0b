/** How a call is evaluated: directly where the types say which function it is, else by the kinds of the arguments. */
import type { ResolvedCall } from "../checking/checked.ts";
import type { Part } from "./compile.ts";
import { call } from "../checking/declarations.ts";
import type { Native, Overload } from "../checking/declarations.ts";
import type { Environment } from "../checking/environment.ts";
import { equal } from "../values/equal.ts";
import { Failure } from "../values/failure.ts";
import { index } from "./fields.ts";
import type { Result, Run } from "../values/run.ts";
import type { Type } from "../checking/types.ts";
import { kindOf } from "../values/values.ts";
import type { Value } from "../values/values.ts";

type Evaluate = (run: Run) => Result;

export function callEvaluation(
  resolved: ResolvedCall,
  parts: readonly Part[],
  at: number,
  environment: Environment,
): Evaluate {
  const { name, overloads, prepared } = resolved;
  const args = parts.map(({ evaluate }) => evaluate);
  const { quietNulls } = environment;
  switch (name) {
    case "_==_":
      return equality(parts, false);
    case "_!=_":
      return equality(parts, true);
    case "_?_:_":
      return conditional(args, at, quietNulls);
    case "_[_]":
      return indexing(args, at, quietNulls);
    case "@in": {
      const among = amongConstants(parts);
      if (among) return among;
      break;
    }
    default:
  }
  const quiet = quietNulls ? quietResult(name, overloads) : undefined;
  // What is looked for may be null: a list may have it.
  const asks = name === "@in" ? secondIsNull : isNullAmong;
  const [only] = overloads;
  if (overloads.length === 1 && only) {
    const native = prepared ?? only.evaluate;
    const given = parts.map(({ type }) => type);
    if (only.parameters.every((wanted, place) => isCertain(wanted, given[place]))) return direct(native, args, at);
    const areNullable = only.parameters.every((wanted, place) => isCertain(wanted, unlessNull(given[place])));
    if (quiet !== undefined && areNullable && args.length <= 2) return directOrQuiet(native, args, at, quiet, asks);
  }
  return dispatched(resolved, args, at, quiet, asks);
}

type AsksForNull = (one: Value, two: Value | undefined) => boolean;
const isNullAmong: AsksForNull = (one, two) => one === null || two === null;
const secondIsNull: AsksForNull = (_, two) => two === null;

function unlessNull(type: Type | undefined): Type | undefined {
  return type?.is === "nullable" ? type.of : type;
}

/** Whether a value of this type needs no look before it is handed over. */
function isCertain(wanted: Type, given: Type | undefined): boolean {
  if (wanted.is === "variable" || wanted.is === "dyn") return true;
  // Null may stand for a time, as for a message.
  return given?.is === wanted.is && given.is !== "timestamp" && given.is !== "duration";
}

type Function1 = (one: Value, run: Run) => Result;
type Function2 = (one: Value, two: Value, run: Run) => Result;
type Function3 = (one: Value, two: Value, three: Value, run: Run) => Result;

function direct(native: Native, args: readonly Evaluate[], at: number): Evaluate {
  const [first, second, third] = args as [Evaluate, Evaluate, Evaluate];
  switch (args.length) {
    case 1: {
      const evaluate = native as unknown as Function1;
      return (run) => {
        const one = first(run);
        return isFailure(one) ? one : located(evaluate(one, run), at);
      };
    }
    case 2: {
      const evaluate = native as unknown as Function2;
      return (run) => {
        const one = first(run);
        if (isFailure(one)) return one;
        const two = second(run);
        return isFailure(two) ? two : located(evaluate(one, two, run), at);
      };
    }
    case 3: {
      const evaluate = native as unknown as Function3;
      return (run) => {
        const one = first(run);
        if (isFailure(one)) return one;
        const two = second(run);
        if (isFailure(two)) return two;
        const three = third(run);
        return isFailure(three) ? three : located(evaluate(one, two, three, run), at);
      };
    }
    default:
      return (run) => {
        const given = valuesOf(args, run);
        return isFailure(given) ? given : located(call(native, given, run), at);
      };
  }
}

/** Of one or two arguments that are of their types, or null. */
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
      return one === null ? quiet : located(evaluate(one, run), at);
    };
  }
  const evaluate = native as unknown as Function2;
  return (run) => {
    const one = first(run);
    if (isFailure(one)) return one;
    const two = second(run);
    if (isFailure(two)) return two;
    return isQuiet(one, two) ? quiet : located(evaluate(one, two, run), at);
  };
}

function dispatched(
  { name, overloads, prepared }: ResolvedCall,
  args: readonly Evaluate[],
  at: number,
  quiet: boolean | null | undefined,
  isQuiet: AsksForNull,
): Evaluate {
  return (run) => {
    const given = valuesOf(args, run);
    if (isFailure(given)) return given;
    if (quiet !== undefined && (isQuiet(given[0] as Value, given[1]) || given[2] === null)) return quiet;
    for (const { parameters, evaluate } of overloads) {
      if (!parameters.every((wanted, place) => accepts(wanted, given[place] as Value))) continue;
      return located(call(prepared ?? evaluate, given, run), at);
    }
    return located(new Failure(`${spoken(name)} cannot be used on ${given.map(kindOf).join(" and ")}`), at);
  };
}

/** What a call on null is where nulls are quiet. */
function quietResult(name: string, overloads: readonly Overload[]): boolean | null {
  if (name === "!_") return true;
  return overloads.every(({ result }) => result.is === "bool") ? false : null;
}

function accepts(wanted: Type, value: Value): boolean {
  switch (wanted.is) {
    case "dyn":
    case "variable":
    case "opaque":
      return true;
    case "object":
      return kindOf(value) === "map";
    case "nullable":
      return value === null || accepts(wanted.of, value);
    default:
      return kindOf(value) === wanted.is;
  }
}

function valuesOf(args: readonly Evaluate[], run: Run): Value[] | Failure {
  const given: Value[] = [];
  for (const arg of args) {
    const value = arg(run);
    if (isFailure(value)) return value;
    given.push(value);
  }
  return given;
}

/** Of strings, ints and bools, which are equal when JavaScript says so; null beside them is, too. */
function equality([left, right]: readonly Part[], isNegated: boolean): Evaluate {
  const [one, other] = [left as Part, right as Part];
  const first = one.evaluate;
  const second = other.evaluate;
  const kind = plainKind(one.type);
  if (kind === undefined || kind !== plainKind(other.type)) {
    return (run) => {
      const a = first(run);
      if (isFailure(a)) return a;
      const b = second(run);
      if (isFailure(b)) return b;
      const same = equal(a, b, run);
      return typeof same === "boolean" ? same !== isNegated : same;
    };
  }
  const constant = other.constant;
  if (constant !== undefined) {
    return (run) => {
      const a = first(run);
      return isFailure(a) ? a : (a === constant) !== isNegated;
    };
  }
  return (run) => {
    const a = first(run);
    if (isFailure(a)) return a;
    const b = second(run);
    return isFailure(b) ? b : (a === b) !== isNegated;
  };
}

function plainKind(type: Type): string | undefined {
  if (type.is === "nullable") return plainKind(type.of);
  return type.is === "string" || type.is === "int" || type.is === "bool" ? type.is : undefined;
}

function conditional([condition, then, otherwise]: readonly Evaluate[], at: number, quietNulls: boolean): Evaluate {
  const [ask, yes, no] = [condition, then, otherwise] as [Evaluate, Evaluate, Evaluate];
  return (run) => {
    const answer = ask(run);
    if (answer === true) return yes(run);
    if (answer === false || (quietNulls && answer === null)) return no(run);
    return isFailure(answer) ? answer : located(new Failure("the part before ? must be true or false"), at);
  };
}

function indexing([from, key]: readonly Evaluate[], at: number, quietNulls: boolean): Evaluate {
  const [first, second] = [from, key] as [Evaluate, Evaluate];
  return (run) => {
    const whole = first(run);
    if (isFailure(whole)) return whole;
    const place = second(run);
    if (isFailure(place)) return place;
    const value = quietNulls && whole === null ? null : index(whole, place, at);
    return quietNulls && isFailure(value) && !value.isFinal ? null : value;
  };
}

/** `x in ['a', 'b']`, or of ints: one look, however many there are. */
function amongConstants([item, list]: readonly Part[]): Evaluate | undefined {
  const constant = list?.constant;
  const kind = item && plainKind(item.type);
  if (!item || kind === undefined || !Array.isArray(constant)) return undefined;
  if (!constant.every((one: Value) => kindOf(one) === kind)) return undefined;
  const known: ReadonlySet<unknown> = new Set(constant);
  const evaluate = item.evaluate;
  return (run) => {
    const value = evaluate(run);
    return isFailure(value) ? value : known.has(value);
  };
}

function isFailure(value: Result | readonly Value[]): value is Failure {
  return typeof value === "object" && value instanceof Failure;
}

/** Says where it failed, unless that is known more exactly. */
function located(result: Result, at: number): Result {
  if (typeof result === "object" && result instanceof Failure && result.offset < 0) result.offset = at;
  return result;
}

/** An operator as it is written. */
function spoken(name: string): string {
  return /^(?:@|_?)([^_@]+)_?$/.exec(name)?.[1] ?? name;
}
