/** One policy action alone: compiled as in a policy, attached to a place, and run on an exchange. */
import { compileSource } from "../../src/cel/program.ts";
import { defineEnvironment } from "../../src/cel/checking/environment.ts";
import { mapOf, types } from "../../src/cel/checking/cel-types.ts";
import { standardFunctions } from "../../src/cel/functions/standard.ts";
import { issueText } from "../../src/cel/syntax/issue.ts";
import type { ActionDeclaration, ActionOutcome, CompiledAction } from "../../src/policy/language/action.ts";
import type { Phase } from "../../src/policy/language/phase.ts";
import { PolicyContext } from "../../src/policy/language/policy-context.ts";
import type { PolicyPlace, PolicyServices } from "../../src/policy/language/policy-context.ts";
import { compileTemplate } from "../../src/policy/language/template.ts";
import { CompileBudget } from "../../src/cel/syntax/compile-budget.ts";
import { compilePattern } from "../../src/cel/values/regex.ts";
import { parseFields } from "../../src/schema/parse-fields.ts";
import type { Exchange } from "../../src/traffic/exchange.ts";
import { makeManualClock } from "./clock.ts";
import type { ManualClock } from "./clock.ts";
import { exchangeOf } from "./exchange.ts";

/** Expressions of these actions use only variables. */
const environment = defineEnvironment({
  variables: { vars: { type: mapOf(types.string, types.dyn), read: ({ vars }: PolicyContext) => vars } },
  functions: standardFunctions,
});

export interface ActionUnderTest {
  readonly clock: ManualClock;
  run(exchange?: Exchange, vars?: PolicyContext["vars"]): Promise<ActionOutcome>;
  rehearse(exchange?: Exchange, vars?: PolicyContext["vars"]): Promise<ActionOutcome>;
  /** Attaches a new configuration, as after a change of the policy. */
  again(config: object): ActionUnderTest;
}

/** Returns every fault of a configuration. */
export function faultsOf(declaration: ActionDeclaration, config: object, phase = declaration.phases[0] as Phase) {
  return compiled(declaration, config, phase).faults;
}

/** Throws if the configuration is invalid. */
export function makeAction(
  declaration: ActionDeclaration,
  config: object,
  services: Partial<PolicyServices> = {},
  clock = makeManualClock(),
  kept = new Map<string, unknown>(),
): ActionUnderTest {
  const phase = declaration.phases[0] as Phase;
  const { action, faults } = compiled(declaration, config, phase);
  if (!action) throw new Error(faults.join("; "));
  const place: PolicyPlace = {
    accountId: "ac_1",
    ownerId: "edghtsrt_1",
    endpoint: { id: "ep_1", protocol: "https" },
    clock,
    services: { random: Math.random, expressionErrors: "no_match", ...services } as PolicyServices,
    keep<T>(key: string, make: () => T): T {
      if (!kept.has(key)) kept.set(key, make());
      return kept.get(key) as T;
    },
    authority() {
      throw new Error("there is none");
    },
    ipPolicy() {
      throw new Error("there is none");
    },
    login() {
      throw new Error("there is none");
    },
  };
  const state = action.attach?.(place);
  const contextOf = (exchange: Exchange, isRehearsal: boolean, vars: NonNullable<PolicyContext["vars"]> = {}) => {
    const context = new PolicyContext(place, phase, exchange.connection, exchange, isRehearsal);
    for (const [name, value] of Object.entries(vars)) context.setVariable(name, value);
    return context;
  };
  return {
    clock,
    run: async (exchange = exchangeOf(), vars) => action.run(contextOf(exchange, false, vars), state),
    rehearse: async (exchange = exchangeOf(), vars) => {
      const context = contextOf(exchange, true, vars);
      return action.rehearse ? action.rehearse(context, state) : action.run(context, state);
    },
    again: (other) => makeAction(declaration, other, services, clock, kept),
  };
}

function compiled(
  declaration: ActionDeclaration,
  config: object,
  phase: Phase,
): { readonly action: CompiledAction | undefined; readonly faults: readonly string[] } {
  const given = { ...config } as Readonly<Record<string, unknown>>;
  const { doc, issues } = parseFields(declaration.config, declaration.widen?.(given) ?? given, "create");
  const faults = issues.map(({ path, message }) => `${path} ${message}`);
  if (faults.length > 0) return { action: undefined, faults };
  const action = declaration.compile(doc as never, {
    phase,
    layer: "http",
    path: `${phase}[0].actions[0]`,
    budget: new CompileBudget(),
    template: (text, at) =>
      compileTemplate(text, environment, (issue) => void faults.push(`${at} ${issueText(issue)}`)),
    expression(source, at, result) {
      const one = compileSource(source, environment, result && { result });
      if (one.ok) return one.program;
      faults.push(...one.issues.map((issue) => `${at} ${issueText(issue)}`));
      return undefined;
    },
    pattern(source, at) {
      const pattern = compilePattern(source);
      if (typeof pattern !== "string") return pattern;
      faults.push(`${at} ${pattern}`);
      return undefined;
    },
    doubtful: () => {},
    wrong: (at, message) => void faults.push(`${at} ${message}`),
  });
  return { action: faults.length === 0 ? action : undefined, faults };
}
