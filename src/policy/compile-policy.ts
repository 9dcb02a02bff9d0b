/**
 * Compiles a policy's text, or reports everything that is wrong with it. The result is the same when it is stored and
 * when it is used.
 */
import { hash } from "node:crypto";
import { compileSource } from "../cel/program.ts";
import type { Program } from "../cel/program.ts";
import { types } from "../cel/checking/cel-types.ts";
import type { Type } from "../cel/checking/cel-types.ts";
import type { CheckedTree } from "../cel/checking/checked.ts";
import type { Environment } from "../cel/checking/environment.ts";
import { CompileBudget } from "../cel/syntax/compile-budget.ts";
import { runAtOnce } from "../lib/slices.ts";
import type { Steps } from "../lib/slices.ts";
import { yamlObjectOf, yamlSteps } from "../lib/yaml.ts";
import type { NamedSecret } from "../schema/fields.ts";
import { denyStep, skipStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";
import type { Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import { actions } from "./actions/index.ts";
import { compileActions } from "./compile-actions.ts";
import type { CompiledExpression, CompiledPolicy, CompiledRule } from "./compiled-policy.ts";
import { environmentOf } from "./policy-environment.ts";
import { Findings, pathOf } from "./findings.ts";
import type { Keys, OlderName } from "./findings.ts";
import { findUnguardedIndexes } from "./lint/unguarded-index.ts";
import { Taint } from "./lint/taint.ts";
import { phaseNamed, phasesOf } from "./phases.ts";
import { suggestNearest, shortenText } from "./policy-issue.ts";
import type { PolicyIssue, PolicyWarning } from "./policy-issue.ts";
import { isJsonObject } from "../lib/json.ts";

export const policyModuleName = "traffic_policy";

/** Maximum per phase, and per rule. */
export const maxRules = 100;
export const maxExpressions = 25;
const maxExpressionBytes = 4096;
/** Budget to compile all expressions and regular expressions of one policy, in steps of half a microsecond. */
const mostSteps = 400_000;

export interface PolicyCompilation {
  /** Must run only if there are no issues. */
  readonly policy: CompiledPolicy;
  /** In the order of the text. Maximum: twenty. */
  readonly issues: readonly PolicyIssue[];
  /** Valid parts that are probably not intended. Maximum: twenty. */
  readonly warnings: readonly PolicyWarning[];
  /** Secrets that the policy reads, in the order of the text. */
  readonly secrets: readonly NamedSecret[];
  readonly olderNames: readonly OlderName[];
  /** Steps used for compiling. */
  readonly steps: number;
}

/** Reads, checks and compiles a policy. Never throws. */
export function compilePolicy(text: string, layer: Layer): PolicyCompilation {
  return runAtOnce(policySteps(text, layer));
}

/** Same as `compilePolicy`, in steps. The longest step is one expression, one action or parsing one text. */
export function* policySteps(text: string, layer: Layer): Steps<PolicyCompilation> {
  const reader = new PolicyReader(text, layer);
  const policy = yield* reader.read();
  const { issues, warnings, secrets, olderNames } = reader.findings;
  return { policy, issues, warnings, secrets, olderNames, steps: reader.steps };
}

/** Context for reading the rules of one phase. */
interface PhaseReader {
  readonly phase: Phase;
  readonly environment: Environment;
  readonly taint: Taint;
  readonly logins: Map<string, string>;
  readonly budget: CompileBudget;
}

/** An expression, with its analysis. */
interface ReadPolicy extends CompiledExpression {
  readonly checked: CheckedTree;
  readonly path: string;
}

class PolicyReader {
  readonly findings = new Findings();
  readonly #text: string;
  readonly #layer: Layer;
  readonly #budget = new CompileBudget(mostSteps);
  /** Names that reveal secrets in later phases. */
  readonly #carried = new Set<string>();

  constructor(text: string, layer: Layer) {
    this.#text = text;
    this.#layer = layer;
  }

  get steps(): number {
    return mostSteps - this.#budget.steps;
  }

  *read(): Steps<CompiledPolicy> {
    const phases: Partial<Record<Phase, readonly CompiledRule[]>> = {};
    let given: Readonly<Record<string, unknown>>;
    try {
      // JSON is a subset of YAML.
      this.findings.yaml = yield* yamlSteps(this.#text);
      given = yamlObjectOf(this.findings.yaml);
    } catch (error) {
      const { message } = error as Error;
      const hint = /tag/i.test(message) ? '; put quotes around an expression that begins with "!"' : "";
      this.findings.wrong("", `must be an object in JSON or YAML: it ${message}${hint}`, "policy_unreadable");
      return { enabled: false, phases };
    }
    let enabled = true;
    for (const [name, value] of Object.entries(given)) {
      if (name === "enabled") {
        if (typeof value === "boolean") enabled = value;
        else this.findings.malformed("enabled", [name], "must be true or false");
        continue;
      }
      const phase = phaseNamed(name, this.#layer);
      if (phase === undefined) this.#unknownPhase(name);
      else if (phase !== name && Object.hasOwn(given, phase)) {
        const message = `is an older name of ${phase}, which is also present: use one of them`;
        this.findings.malformed(name, [name], message);
      } else phases[phase] = yield* this.#rules(value, phase, name);
    }
    const { readsPath, readsAddresses } = this.findings;
    return { enabled, phases, readsPath, readsAddresses };
  }

  #unknownPhase(name: string): void {
    const known = phasesOf[this.#layer];
    const message = `is not a phase here; known are: ${known.join(", ")}${suggestNearest(name, known)}`;
    this.findings.wrong(shortenText(name), message, "policy_phase_unknown");
  }

  *#rules(given: unknown, phase: Phase, name: string): Steps<readonly CompiledRule[]> {
    if (given === null) return [];
    if (!Array.isArray(given)) {
      this.findings.malformed(name, [name], "must be a list of rules: begin each with `-`");
      return [];
    }
    if (given.length > maxRules) {
      this.findings.wrong(name, `must have at most ${maxRules} rules, has ${given.length}`, "policy_rules_many");
      return [];
    }
    const environment = environmentOf(phase, this.#layer, actions);
    const reader: PhaseReader = {
      phase,
      environment,
      taint: new Taint(this.#carried),
      logins: new Map(),
      budget: this.#budget,
    };
    const rules: CompiledRule[] = [];
    for (const [index, rule] of given.entries()) rules.push(yield* this.#rule(rule, index, [name, index], reader));
    const last = rules.findIndex(({ expressions, actions: own }) => expressions.length === 0 && own.some(isEnd));
    if (last >= 0 && last < rules.length - 1 && this.findings.issues.length === 0) {
      const rest = last + 2 < rules.length ? "and the rules after it never run" : "never runs";
      this.findings.doubtful(`${name}[${last + 1}]`, `${rest}: ${name}[${last}] always ends the phase`);
    }
    return rules;
  }

  *#rule(given: unknown, index: number, keys: Keys, reader: PhaseReader): Steps<CompiledRule> {
    const { phase, environment } = reader;
    const path = pathOf(keys);
    const rule: CompiledRule = { phase, index, label: `${phase}[${index}]`, key: "", expressions: [], actions: [] };
    if (!isJsonObject(given)) {
      this.findings.malformed(path, keys, "must be a rule: name, expressions, actions");
      return rule;
    }
    for (const key of Object.keys(given)) {
      if (ruleKeys.includes(key)) continue;
      const message = `is unknown; known are: ${ruleKeys.join(", ")}${suggestNearest(key, ruleKeys)}`;
      this.findings.malformed(`${path}.${shortenText(key)}`, [...keys, key], message);
    }
    const { name, expressions: list } = given;
    const isNamed = typeof name === "string" || typeof name === "number";
    if (!isNamed && name !== undefined && name !== null) {
      this.findings.malformed(`${path}.name`, [...keys, "name"], "must be a text");
    }
    const label = isNamed ? `${rule.label} "${shortenText(String(name))}"` : rule.label;
    const expressions = yield* this.#expressions(list, label, [...keys, "expressions"], reader);
    const compiled = yield* compileActions(given["actions"], [...keys, "actions"], {
      ...reader,
      findings: this.findings,
      layer: this.#layer,
      program: (source, at, result) => this.#program(source, at, environment, result),
    });
    // A rule that only adds something may safely be skipped if its data are missing.
    if (compiled.some(({ declaration }) => declaration.terminating !== undefined)) this.#guard(expressions);
    return {
      ...rule,
      label,
      key: keyOf(given),
      expressions: expressions.map(({ program, taint, unmatched, undecided }) => ({
        program,
        taint,
        unmatched,
        undecided,
      })),
      actions: compiled,
    };
  }

  /** Reports parts that can fail in the conditions of a rule that ends the phase. */
  #guard(expressions: readonly ReadPolicy[]): void {
    let asked: ReadonlySet<string> = new Set();
    for (const { checked, path } of expressions) {
      const found = findUnguardedIndexes(checked, asked);
      for (const doubt of found.doubts) this.findings.doubtfulIn(path, checked.tree.source, 0, doubt);
      asked = new Set([...asked, ...found.asked]);
    }
  }

  *#expressions(
    given: unknown,
    label: string,
    keys: Keys,
    { environment, taint }: PhaseReader,
  ): Steps<readonly ReadPolicy[]> {
    if (given === undefined || given === null) return [];
    const path = pathOf(keys);
    if (!Array.isArray(given)) {
      this.findings.malformed(path, keys, "must be a list of expressions");
      return [];
    }
    if (given.length > maxExpressions) {
      this.findings.wrong(path, `must have at most ${maxExpressions}, has ${given.length}`, "policy_rule_large");
      return [];
    }
    const read: ReadPolicy[] = [];
    for (const [index, source] of given.entries()) {
      yield;
      const at = `${path}[${index}]`;
      if (typeof source !== "string" && typeof source !== "boolean") {
        this.findings.malformed(at, [...keys, index], "must be an expression, as a text");
        continue;
      }
      const found = this.#program(String(source), at, environment, types.bool);
      if (!found) continue;
      // Its text may contain a credential, and not every reader of traces may read credentials (control K4).
      const what = `${label}: expression ${index + 1}`;
      const unmatched = skipStep(policyModuleName, `${what} is false`);
      read.push({ ...found, taint, path: at, unmatched, undecided: undecidedSteps(`${what} failed`) });
    }
    return read;
  }

  #program(
    source: string,
    at: string,
    environment: Environment,
    result: Type | undefined,
  ): { readonly program: Program; readonly checked: CheckedTree } | undefined {
    if (Buffer.byteLength(source) > maxExpressionBytes) {
      this.findings.wrong(at, `must be at most ${maxExpressionBytes} bytes`, "policy_expression_invalid");
      return undefined;
    }
    const compiled = compileSource(source, environment, { ...(result && { result }), budget: this.#budget });
    if (compiled.ok) {
      this.findings.read(at, source, compiled.checked);
      return compiled;
    }
    for (const issue of compiled.issues) this.findings.wrongIn(at, source, issue, "policy_expression_invalid");
    return undefined;
  }
}

function isEnd({ declaration, compiled }: CompiledRule["actions"][number]): boolean {
  return declaration.terminating === "always" || compiled.isFinal === true;
}

/** Distinguishes rules by their content. Values without a JSON form, such as integers, have their text. */
function keyOf(rule: object): string {
  const text = JSON.stringify(rule, (_name, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
  return hash("sha256", text, "base64url");
}

function undecidedSteps(reason: string): CompiledExpression["undecided"] {
  const skips: Step = { ...skipStep(policyModuleName, reason), failed: true };
  const refuses: Step = { ...denyStep(policyModuleName, "policy_expression_failed", reason), failed: true };
  const bound = `${reason}: it exceeds the number of steps, or creates a text or list that is too long`;
  const exceeds: Step = { ...denyStep(policyModuleName, "policy_limit_reached", bound), failed: true };
  return { skips: Object.freeze(skips), refuses: Object.freeze(refuses), exceeds: Object.freeze(exceeds) };
}

const ruleKeys = ["name", "expressions", "actions"];
