/** Compiles `all`, `exists`, `exists_one`, `filter`, `map` and `sortBy`. */
import { compareValues } from "../values/equal.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { mapKeys } from "../values/map.ts";
import { failOutOfSteps } from "../values/budget.ts";
import type { Result, Run } from "../values/budget.ts";
import type { LoopMacro } from "../syntax/tree.ts";
import { kindOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

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
  const each = chooseLoop(parts);
  const { range, quietNulls } = parts;
  return (run) => {
    const from = range(run);
    if (from instanceof CelFailure) return from;
    if (Array.isArray(from)) return each(from as readonly Value[], run);
    if (kindOf(from) === "map") {
      const keys = mapKeys(from as Record<string, Value>);
      return run.spendItems(4 * keys.length) ?? each(keys, run);
    }
    if (quietNulls && from === null) return each([], run);
    return new CelFailure(`${parts.macro} needs a list or a map, but this has type ${kindOf(from)}`);
  };
}

type Each = (items: readonly Value[], run: Run) => Result;

function chooseLoop(parts: LoopParts): Each {
  switch (parts.macro) {
    case "all":
      return loopUntilDecided(parts, false);
    case "exists":
      return loopUntilDecided(parts, true);
    case "exists_one":
      return loopForOne(parts);
    case "sortBy":
      return loopToSort(parts);
    default:
      return loopToCollect(parts);
  }
}

/** Stops at the first deciding answer. A failure counts only if no answer decides. */
function loopUntilDecided({ place, cost, condition, quietNulls }: LoopParts, decides: boolean): Each {
  const ask = condition as Evaluate;
  return (items, run) => {
    let failure: CelFailure | undefined;
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return failOutOfSteps();
      (run.locals ??= [])[place] = item;
      const answer = ask(run);
      if (answer === decides) return decides;
      if (typeof answer === "boolean") continue;
      if (quietNulls && answer === null) {
        if (!decides) return false;
        continue;
      }
      if (answer instanceof CelFailure && answer.isFinal) return answer;
      failure ??= answer instanceof CelFailure ? answer : failNoBool();
    }
    return failure ?? !decides;
  };
}

function loopForOne({ place, cost, condition, quietNulls }: LoopParts): Each {
  const ask = condition as Evaluate;
  return (items, run) => {
    let count = 0;
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return failOutOfSteps();
      (run.locals ??= [])[place] = item;
      const answer = ask(run);
      if (answer === true) count += 1;
      else if (answer !== false && !(quietNulls && answer === null))
        return answer instanceof CelFailure ? answer : failNoBool();
    }
    return count === 1;
  };
}

function loopToCollect({ place, cost, condition, result, quietNulls }: LoopParts): Each {
  return (items, run) => {
    const found: Value[] = [];
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return failOutOfSteps();
      (run.locals ??= [])[place] = item;
      if (condition) {
        const answer = condition(run);
        if (answer === false || (quietNulls && answer === null)) continue;
        if (answer !== true) return answer instanceof CelFailure ? answer : failNoBool();
      }
      const value = result ? result(run) : item;
      if (value instanceof CelFailure) return value;
      found.push(value);
      if (found.length > run.limits.items) return run.makeItems(found.length) ?? found;
    }
    return found;
  };
}

function loopToSort({ place, cost, result }: LoopParts): Each {
  const keyOf = result as Evaluate;
  return (items, run) => {
    const keyed: { readonly key: Value; readonly item: Value }[] = [];
    for (const item of items) {
      run.steps -= cost;
      if (run.steps < 0) return failOutOfSteps();
      (run.locals ??= [])[place] = item;
      const key = keyOf(run);
      if (key instanceof CelFailure) return key;
      keyed.push({ key, item });
    }
    return sortByKeys(keyed, run);
  };
}

/** Sorts the items by their keys. Items with equal keys keep their order. */
export function sortByKeys(keyed: { readonly key: Value; readonly item: Value }[], run: Run): Result {
  const failed = run.makeItems(keyed.length);
  if (failed) return failed;
  let failure: CelFailure | undefined;
  keyed.sort((left, right) => {
    if (failure) return 0;
    run.steps -= 1;
    const order = run.steps < 0 ? failOutOfSteps() : compareValues(left.key, right.key, run);
    if (typeof order === "number") return Number.isNaN(order) ? 0 : order;
    failure = order;
    return 0;
  });
  return failure ?? keyed.map(({ item }) => item);
}

function failNoBool(): CelFailure {
  return new CelFailure("a condition must be true or false");
}
