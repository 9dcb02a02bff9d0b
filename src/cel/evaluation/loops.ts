/** Compiles `all`, `exists`, `exists_one`, `filter`, `map` and `sortBy`. */
import { compare } from "../values/equal.ts";
import { Failure } from "../values/failure.ts";
import { mapKeys } from "../values/map.ts";
import { outOfSteps } from "../values/run.ts";
import type { Result, Run } from "../values/run.ts";
import type { LoopMacro } from "../syntax/tree.ts";
import { kindOf } from "../values/values.ts";
import type { Value } from "../values/values.ts";

type Evaluate = (run: Run) => Result;

export interface LoopParts {
  readonly macro: LoopMacro;
  readonly range: Evaluate;
  /** Index of the variable among the run's locals. */
  readonly place: number;
  /** Steps of each iteration. */
  readonly cost: number;
  readonly condition: Evaluate | undefined;
  readonly result: Evaluate | undefined;
  readonly quietNulls: boolean;
}

export function loopEvaluation(parts: LoopParts): Evaluate {
  const each = eachOf(parts);
  const { range, quietNulls } = parts;
  return (run) => {
    const from = range(run);
    if (from instanceof Failure) return from;
    if (Array.isArray(from)) return each(from as readonly Value[], run);
    if (kindOf(from) === "map") {
      const keys = mapKeys(from as Record<string, Value>);
      return run.spendItems(4 * keys.length) ?? each(keys, run);
    }
    if (quietNulls && from === null) return each([], run);
    return new Failure(`${parts.macro} needs a list or a map, but this has type ${kindOf(from)}`);
  };
}

type Each = (items: readonly Value[], run: Run) => Result;

function eachOf(parts: LoopParts): Each {
  switch (parts.macro) {
    case "all":
      return question(parts, false);
    case "exists":
      return question(parts, true);
    case "exists_one":
      return one(parts);
    case "sortBy":
      return sorted(parts);
    default:
      return collected(parts);
  }
}

/** Stops at the first deciding answer. A failure counts only if no answer decides. */
function question({ place, cost, condition, quietNulls }: LoopParts, decides: boolean): Each {
  const ask = condition as Evaluate;
  return (items, run) => {
    let failure: Failure | undefined;
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return outOfSteps();
      (run.locals ??= [])[place] = item;
      const answer = ask(run);
      if (answer === decides) return decides;
      if (typeof answer === "boolean") continue;
      if (quietNulls && answer === null) {
        if (!decides) return false;
        continue;
      }
      if (answer instanceof Failure && answer.isFinal) return answer;
      failure ??= answer instanceof Failure ? answer : noBool();
    }
    return failure ?? !decides;
  };
}

function one({ place, cost, condition, quietNulls }: LoopParts): Each {
  const ask = condition as Evaluate;
  return (items, run) => {
    let count = 0;
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return outOfSteps();
      (run.locals ??= [])[place] = item;
      const answer = ask(run);
      if (answer === true) count += 1;
      else if (answer !== false && !(quietNulls && answer === null))
        return answer instanceof Failure ? answer : noBool();
    }
    return count === 1;
  };
}

function collected({ place, cost, condition, result, quietNulls }: LoopParts): Each {
  return (items, run) => {
    const found: Value[] = [];
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return outOfSteps();
      (run.locals ??= [])[place] = item;
      if (condition) {
        const answer = condition(run);
        if (answer === false || (quietNulls && answer === null)) continue;
        if (answer !== true) return answer instanceof Failure ? answer : noBool();
      }
      const value = result ? result(run) : item;
      if (value instanceof Failure) return value;
      found.push(value);
      if (found.length > run.limits.items) return run.makeItems(found.length) ?? found;
    }
    return found;
  };
}

function sorted({ place, cost, result }: LoopParts): Each {
  const keyOf = result as Evaluate;
  return (items, run) => {
    const keyed: { readonly key: Value; readonly item: Value }[] = [];
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return outOfSteps();
      (run.locals ??= [])[place] = item;
      const key = keyOf(run);
      if (key instanceof Failure) return key;
      keyed.push({ key, item });
    }
    return sortedBy(keyed, run);
  };
}

/** Sorts the items by their keys. Items with equal keys keep their order. */
export function sortedBy(keyed: { readonly key: Value; readonly item: Value }[], run: Run): Result {
  const failed = run.makeItems(keyed.length);
  if (failed) return failed;
  let failure: Failure | undefined;
  keyed.sort((left, right) => {
    if (failure) return 0;
    run.steps -= 1;
    const order = run.steps < 0 ? outOfSteps() : compare(left.key, right.key, run);
    if (typeof order === "number") return Number.isNaN(order) ? 0 : order;
    failure = order;
    return 0;
  });
  return failure ?? keyed.map(({ item }) => item);
}

function noBool(): Failure {
  return new Failure("a condition must be true or false");
}
