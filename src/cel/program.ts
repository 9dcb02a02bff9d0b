/** Entry point: a source and an environment become a program, which can be evaluated any number of times. */
import { checkTree } from "./checking/check-tree.ts";
import type { Checked, CheckOptions } from "./checking/check-tree.ts";
import type { CheckedTree } from "./checking/checked.ts";
import { compileTree, stepsOf } from "./evaluation/compile-tree.ts";
import type { Evaluate } from "./evaluation/part.ts";
import type { Environment } from "./checking/environment.ts";
import { CompileBudget } from "./syntax/compile-budget.ts";
import { CelFailure } from "./values/cel-failure.ts";
import type { Issue } from "./syntax/issue.ts";
import type { Limits } from "./values/cel-limits.ts";
import { parseExpression } from "./syntax/parser.ts";
import { failOutOfSteps, Run } from "./values/budget.ts";
import type { Budget, Result } from "./values/budget.ts";
import type { Node } from "./syntax/tree.ts";
import { types } from "./checking/cel-types.ts";
import type { Type } from "./checking/cel-types.ts";

export interface Program {
  readonly source: string;
  readonly type: Type;
  /** Distinct names of the declared variables that occur. No other variable is read. */
  readonly variables: readonly string[];
  /**
   * Never throws. Returns a `CelFailure` if there is no value. Steps are also taken from `budget`, which several
   * evaluations can share.
   */
  evaluate(activation: unknown, budget?: Budget): Result;
  /** Evaluates and also returns the values of the expression's parts. Compiled again at the first call. */
  explain(activation: unknown, budget?: Budget): Explanation;
}

export interface Explanation {
  readonly result: Result;
  /** The tree whose nodes the parts refer to. */
  readonly checked: CheckedTree;
  /** In evaluation order. Parts that were skipped because they could not change the result are absent. */
  readonly parts: readonly ExplainedPart[];
}

export interface ExplainedPart {
  readonly text: string;
  readonly node: Node;
  /** UTF-16 offsets in the source. */
  readonly from: number;
  readonly to: number;
  readonly result: Result;
}

export type Compiled =
  | { readonly ok: true; readonly program: Program; readonly checked: CheckedTree }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Parses, checks and compiles. Never throws. */
export function compileSource(source: string, environment: Environment, options: CheckOptions = {}): Compiled {
  const budget = options.budget ?? new CompileBudget();
  const read = readAndCheck(source, environment, { ...options, budget });
  return read.ok ? { ...read, program: programOf(read.checked, environment, options, budget) } : read;
}

type Budgeted = CheckOptions & { readonly budget: CompileBudget };

function readAndCheck(source: string, environment: Environment, options: Budgeted): Checked {
  const parsed = parseExpression(source, environment.limits, options.budget);
  return parsed.ok ? checkTree(parsed.tree, environment, options) : parsed;
}

/** Maximum number of parts in an explanation, because loops may have thousands. */
const maxParts = 200;

/** Does not retain the tree, which would be most of a policy's memory. An explanation parses the source again. */
function programOf(
  checked: CheckedTree,
  environment: Environment,
  options: CheckOptions,
  budget: CompileBudget,
): Program {
  const { source, root } = checked.tree;
  const names = Array.from(checked.variables.values(), ({ name, read }) => (read ? name : undefined));
  let explained: ((activation: unknown, budget: Budget | undefined) => Explanation) | undefined;
  return {
    source,
    type: checked.types[root.id] ?? types.dyn,
    variables: [...new Set(names.filter((name) => name !== undefined))],
    evaluate: evaluationOf(compileTree(checked, environment, budget), stepsOf(root), environment.limits),
    explain(activation, budget) {
      explained ??= compileToExplain(source, environment, options);
      return explained(activation, budget);
    },
  };
}

/** Reuses one run. Only an evaluation inside an evaluation needs another. */
function evaluationOf(evaluate: Evaluate, cost: number, limits: Limits): Program["evaluate"] {
  const own: Budget = { steps: 0, run: new Run(limits) };
  return (activation, budget) => {
    const keeper = budget ?? own;
    const run = keeper.run ?? new Run(limits);
    const steps = budget === undefined || budget.steps > limits.steps ? limits.steps : budget.steps;
    keeper.run = undefined;
    run.limits = limits;
    run.activation = activation;
    run.steps = steps - cost;
    let result: Result;
    try {
      result = run.steps < 0 ? failOutOfSteps() : evaluate(run);
    } catch (error) {
      result = new CelFailure(
        `the evaluation broke off: ${error instanceof Error ? error.message : String(error)}`,
        true,
      );
    }
    if (budget !== undefined) budget.steps -= steps - Math.max(run.steps, 0);
    run.activation = undefined;
    if (run.locals !== undefined) run.locals = undefined;
    keeper.run = run;
    return result;
  };
}

function compileToExplain(source: string, environment: Environment, options: CheckOptions) {
  let parts: ExplainedPart[] = [];
  const watch = (node: Node, result: Result): void => {
    const { from, to } = node;
    if (parts.length < maxParts) parts.push({ text: source.slice(from, to), node, from, to, result });
  };
  const budget = new CompileBudget();
  const read = readAndCheck(source, environment, { ...options, budget });
  if (!read.ok) throw new Error("explain an expression: it was read before, and cannot be read again");
  const evaluate = compileTree(read.checked, environment, budget, watch);
  const evaluation = evaluationOf(evaluate, stepsOf(read.checked.tree.root), environment.limits);
  return (activation: unknown, budget: Budget | undefined): Explanation => {
    parts = [];
    const result = evaluation(activation, budget);
    return { result, checked: read.checked, parts };
  };
}
