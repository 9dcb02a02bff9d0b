/** Runs the rules of one phase on one request or connection, in order. Never throws. */
import { CelFailure } from "../cel/values/cel-failure.ts";
import type { Result } from "../cel/values/budget.ts";
import { errorCode } from "../lib/errors.ts";
import { resumeMark } from "../lib/heartbeat.ts";
import type { Step, StepRule } from "../traffic/step.ts";
import type { ActionOutcome, PhaseEnd } from "./language/action.ts";
import { breakAction } from "./language/action.ts";
import { policyModuleName } from "./compile-policy.ts";
import type { CompiledActionOf, CompiledExpression, CompiledRule } from "./compiled-policy.ts";
import type { PolicyContext } from "./language/policy-context.ts";
import { valuesOf } from "./explained.ts";

/** State of each rule. */
export type RuleStates = readonly RuleState[];

export interface RuleState {
  /** Results of `attach`, for each action. */
  readonly actions: readonly unknown[];
  readonly counts: RuleCounts;
}

/** Counters of a rule since its conditions last changed. Dry runs are not counted. */
export interface RuleCounts {
  /** Number of times that its conditions held. */
  matched: number;
  /** Number of times that one of its conditions or actions failed. */
  failed: number;
}

/** Adds a step for each rule. Returns the outcome that ends the phase; undefined if all rules ran. */
export function runRules(
  rules: readonly CompiledRule[],
  states: RuleStates,
  context: PolicyContext,
  steps: Step[],
  from = 0,
): PhaseEnd | undefined | Promise<PhaseEnd | undefined> {
  for (let at = from; at < rules.length; at += 1) {
    const rule = rules[at] as CompiledRule;
    const state = states[at] as RuleState;
    const values: StepRule["values"][number][] | undefined = context.isRehearsal ? [] : undefined;
    context.enterRule();
    const verdict = values ? explainRule(rule, context, values) : recallDecision(rule, context);
    if (verdict !== undefined) {
      const { counts } = state;
      if (verdict.failed === true && !values) counts.failed += 1;
      steps.push(values ? { ...verdict, rule: { ...ruleOf(rule, counts), values, actions: [] } } : verdict);
      if (verdict.answer !== undefined) return { by: "refusal", answer: verdict.answer };
      continue;
    }
    if (!values) state.counts.matched += 1;
    const run = new RuleRun(rule, state, context, steps, values);
    const end = run.actions(0);
    if (end instanceof Promise) {
      return end.then(resumeMark((ended) => ended ?? runRules(rules, states, context, steps, at + 1)));
    }
    if (end !== undefined) return end;
  }
  return undefined;
}

function ruleOf(
  { phase, index }: CompiledRule,
  { matched, failed }: RuleCounts,
): Pick<StepRule, "phase" | "index" | "matched" | "failed"> {
  return { phase, index, matched, failed };
}

/** Returns the step with the reason why the rule does not match; undefined if it does. */
function decideRule({ expressions }: CompiledRule, context: PolicyContext): Step | undefined {
  for (let at = 0; at < expressions.length; at += 1) {
    const expression = expressions[at] as CompiledExpression;
    const result = expression.program.evaluate(context, context);
    if (result !== true) return explainUnmatched(expression, result, context);
  }
  return undefined;
}

/** Same as `decideRule`. A replay may take the result from the record. */
function recallDecision(rule: CompiledRule, context: PolicyContext): Step | undefined {
  const replay = context.exchange?.replay;
  return replay === undefined ? decideRule(rule, context) : replay.verdict(rule, () => decideRule(rule, context));
}

/** Same as `decideRule`, and records the parts of the expressions in `values`. */
function explainRule(
  { expressions }: CompiledRule,
  context: PolicyContext,
  values: StepRule["values"][number][],
): Step | undefined {
  for (const expression of expressions) {
    const explanation = expression.program.explain(context, context);
    values.push(valuesOf(expression, explanation, context.secrets));
    if (explanation.result !== true) return explainUnmatched(expression, explanation.result, context);
  }
  return undefined;
}

function explainUnmatched(
  { unmatched, undecided }: CompiledExpression,
  result: Result,
  { place }: PolicyContext,
): Step {
  if (!(result instanceof CelFailure)) return unmatched;
  // The sender of the request chooses the amount of work, and must not be able to skip rules.
  if (result.isFinal) return undecided.exceeds;
  return place.services.expressionErrors === "no_match" ? undecided.skips : undecided.refuses;
}

/** Runs the actions of a matching rule, and creates its step. */
class RuleRun {
  readonly #rule: CompiledRule;
  readonly #state: RuleState;
  readonly #context: PolicyContext;
  readonly #steps: Step[];
  readonly #values: StepRule["values"] | undefined;
  readonly #done: { readonly type: string; readonly outcome: ActionOutcome["outcome"]; readonly reason: string }[] = [];

  constructor(
    rule: CompiledRule,
    state: RuleState,
    context: PolicyContext,
    steps: Step[],
    values: StepRule["values"] | undefined,
  ) {
    this.#rule = rule;
    this.#state = state;
    this.#context = context;
    this.#steps = steps;
    this.#values = values;
  }

  actions(from: number): PhaseEnd | undefined | Promise<PhaseEnd | undefined> {
    const { actions } = this.#rule;
    for (let at = from; at < actions.length; at += 1) {
      const action = actions[at] as CompiledActionOf;
      const replay = this.#context.exchange?.replay;
      const state = this.#state.actions[at];
      const outcome =
        replay === undefined ? this.#run(action, state) : replay.action(this.#rule, at, () => this.#run(action, state));
      if (outcome instanceof Promise) {
        return outcome
          .catch(endOnError)
          .then(resumeMark((settled) => this.#take(action, settled) ?? this.actions(at + 1)));
      }
      const end = this.#take(action, outcome);
      if (end !== undefined) return end;
    }
    this.#tell(undefined);
    return undefined;
  }

  #run({ compiled }: CompiledActionOf, state: unknown): ActionOutcome | Promise<ActionOutcome> {
    try {
      if (this.#context.isRehearsal && compiled.rehearse) return compiled.rehearse(this.#context, state);
      return compiled.run(this.#context, state);
    } catch (error) {
      return endOnError(error);
    }
  }

  #take({ declaration }: CompiledActionOf, { outcome, reason, result, end }: ActionOutcome): PhaseEnd | undefined {
    const { type, results } = declaration;
    if (result && results) this.#context.keepResult(results.name, result);
    if (!leavesMessages.has(type)) this.#context.forget();
    this.#done.push({ type, outcome, reason });
    if (end !== undefined) this.#tell(end);
    return end;
  }

  #tell(end: PhaseEnd | undefined): void {
    const { label } = this.#rule;
    const actions = this.#done;
    const { counts } = this.#state;
    if (!this.#context.isRehearsal && actions.some(({ outcome }) => outcome === "failed")) counts.failed += 1;
    const said = actions.map(({ type, reason }) => `${type}: ${reason}`).join("; ");
    const isChanged = actions.some(({ outcome }) => outcome === "done" || outcome === "ended");
    this.#steps.push({
      by: policyModuleName,
      outcome: outcomeOf(end, isChanged),
      reason: `${label}: ${said}`,
      ...(this.#values && { rule: { ...ruleOf(this.#rule, counts), values: this.#values, actions } }),
    });
  }
}

/** Actions that change neither the request nor the response. */
const leavesMessages: ReadonlySet<string> = new Set([
  "circuit-breaker",
  "http-request",
  "log",
  "rate-limit",
  "restrict-ips",
  "set-vars",
]);

function outcomeOf(end: PhaseEnd | undefined, isChanged: boolean): Step["outcome"] {
  if (end === undefined) return isChanged ? "changed" : "passed";
  if (end.by === "login") return end.step.outcome;
  if (end.by === "forward") return "changed";
  return end.by === "answer" ? "answered" : "denied";
}

/** An internal error in an action ends the request, and the route continues. */
function endOnError(error: unknown): ActionOutcome {
  const message = error instanceof Error ? error.message : String(error);
  return breakAction("policy_action_failed", `${errorCode("policy_action_failed")}: ${message}`);
}
