/** Filters of lists: conditions over `obj`, in the expression language (docs/reference/expressions.md). */
import type { Environment } from "../../cel/checking/environment.ts";
import { types } from "../../cel/checking/cel-types.ts";
import { compileSource } from "../../cel/program.ts";
import { CompileBudget } from "../../cel/syntax/compile-budget.ts";
import { issueText } from "../../cel/syntax/issue.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { Refusal } from "../../lib/errors.ts";

/** Maximum number of steps to compile a filter: 10 ms, because each request may send a new one. */
const compileSteps = 20_000;

/**
 * Throws `Refusal` with the reason if the filter is invalid or does not fit `obj`. If the filter fails on an object,
 * such as by a division by zero, the object is not accepted. The returned function throws `Refusal` if an object needs
 * too many steps.
 */
export function parseFilter(text: string, environment: Environment): (object: unknown) => boolean {
  const compiled = compileSource(text, environment, { result: types.bool, budget: new CompileBudget(compileSteps) });
  if (!compiled.ok) throw filterRefusal(compiled.issues.map(issueText).join("; "));
  const { program } = compiled;
  return (object) => {
    const result = program.evaluate(object);
    if (result instanceof CelFailure && result.isFinal) throw filterRefusal(`${result.message} on one object`);
    return result === true;
  };
}

function filterRefusal(problem: string): Refusal {
  return new Refusal("filter_invalid", `"filter" is invalid: ${problem}`, { filter: problem });
}
