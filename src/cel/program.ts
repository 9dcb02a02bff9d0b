/** The way in: a source and an environment make a program, which is evaluated as often as one likes. */
import { check } from "./checking/check.ts";
import type { CheckOptions } from "./checking/check.ts";
import type { CheckedTree } from "./checking/checked.ts";
import { compileTree, stepsOf } from "./evaluation/compile.ts";
import type { Evaluate } from "./evaluation/compile.ts";
import type { Environment } from "./checking/environment.ts";
import { Failure } from "./values/failure.ts";
import type { Issue } from "./syntax/issue.ts";
import { parse } from "./syntax/parse.ts";
import { outOfSteps, Run } from "./values/run.ts";
import type { Budget, Result } from "./values/run.ts";
import type { Node } from "./syntax/tree.ts";
import { types } from "./checking/types.ts";
import type { Type } from "./checking/types.ts";

export interface Program {
  readonly source: string;
  readonly type: Type;
  /** Names of the declared variables that are mentioned, each once; nothing else is read. */
  readonly variables: readonly string[];
  /**
   * Never throws, and gives a `Failure` where there is no value. Steps are taken from `budget` as well, which several
   * evaluations may share.
   */
  evaluate(activation: unknown, budget?: Budget): Result;
  /** The same, with what the parts of the expression were. Compiled anew when it is first asked for. */
  explain(activation: unknown, budget?: Budget): Explanation;
}

export interface Explanation {
  readonly result: Result;
  /** In the order in which they became known; parts that were not come to, because they could not matter, are absent. */
  readonly parts: readonly ExplainedPart[];
}

export interface ExplainedPart {
  readonly text: string;
  /** UTF-16 offsets in the source. */
  readonly from: number;
  readonly to: number;
  readonly result: Result;
}

export type Compiled =
  | { readonly ok: true; readonly program: Program; readonly checked: CheckedTree }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Reads, checks and compiles. Never throws. */
export function compile(source: string, environment: Environment, options: CheckOptions = {}): Compiled {
  const parsed = parse(source, environment.limits);
  if (!parsed.ok) return parsed;
  const checked = check(parsed.tree, environment, options);
  if (!checked.ok) return checked;
  return { ok: true, program: programOf(checked.checked, environment), checked: checked.checked };
}

/** Parts that an explanation shows; loops may have thousands. */
const maxParts = 200;

export function programOf(checked: CheckedTree, environment: Environment): Program {
  const { tree } = checked;
  const run = new Run(environment.limits);
  const cost = stepsOf(tree.root);
  const evaluation = evaluationOf(compileTree(checked, environment), cost, run);
  const names = Array.from(checked.variables.values(), ({ name, read }) => (read ? name : undefined));
  let explained: ((activation: unknown, budget: Budget | undefined) => Explanation) | undefined;
  return {
    source: tree.source,
    type: checked.types[tree.root.id] ?? types.dyn,
    variables: [...new Set(names.filter((name) => name !== undefined))],
    evaluate: evaluation,
    explain(activation, budget) {
      explained ??= explaining(checked, environment, cost);
      return explained(activation, budget);
    },
  };
}

/** `run` is used again and again: only an evaluation inside an evaluation of the same program needs another. */
function evaluationOf(evaluate: Evaluate, cost: number, run: Run): Program["evaluate"] {
  let isBusy = false;
  return (activation, budget) => {
    if (isBusy) return evaluationOf(evaluate, cost, new Run(run.limits))(activation, budget);
    isBusy = true;
    const steps = budget ? Math.min(budget.steps, run.limits.steps) : run.limits.steps;
    run.activation = activation;
    run.steps = steps - cost;
    try {
      return run.steps < 0 ? outOfSteps() : evaluate(run);
    } catch (error) {
      return new Failure(`the evaluation broke off: ${error instanceof Error ? error.message : String(error)}`, true);
    } finally {
      isBusy = false;
      run.activation = undefined;
      if (run.locals.length > 0) run.locals.length = 0;
      if (budget) budget.steps -= steps - Math.max(run.steps, 0);
    }
  };
}

function explaining(checked: CheckedTree, environment: Environment, cost: number) {
  let parts: ExplainedPart[] = [];
  const { source } = checked.tree;
  const watch = ({ from, to }: Node, result: Result): void => {
    if (parts.length < maxParts) parts.push({ text: source.slice(from, to), from, to, result });
  };
  const evaluate = evaluationOf(compileTree(checked, environment, watch), cost, new Run(environment.limits));
  return (activation: unknown, budget: Budget | undefined): Explanation => {
    parts = [];
    const result = evaluate(activation, budget);
    return { result, parts };
  };
}
