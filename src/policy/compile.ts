/** A policy's text → what runs, or everything that is wrong with it: the same when it is written and when it is used. */
import { createRequire } from "node:module";
import { compile } from "../cel/program.ts";
import { issueText } from "../cel/syntax/issue.ts";
import { types } from "../cel/checking/types.ts";
import type { Environment } from "../cel/checking/environment.ts";
import type { RefusalName } from "../lib/errors.ts";
import type * as Yaml from "../lib/yaml.ts";
import { parseFields } from "../schema/parse.ts";
import { skipped } from "../traffic/step.ts";
import type { ActionDeclaration, ActionScope, CompiledAction, Layer, Phase } from "./language/action.ts";
import { actions, unsupportedActions } from "./actions/index.ts";
import type { CompiledActionOf, CompiledExpression, CompiledPolicy, CompiledRule } from "./compiled.ts";
import { environmentOf } from "./environment.ts";
import { phaseNamed, phasesOf } from "./phases.ts";
import { didYouMean, fieldReason, maxPolicyIssues, shortened } from "./policy-issue.ts";
import type { PolicyIssue } from "./policy-issue.ts";
import { compileTemplate } from "./language/template.ts";

export const policyModuleName = "traffic_policy";

/** Per phase, and per rule (traffic-policy.md §1.1). */
const maxRules = 100;
const maxActions = 20;
const maxExpressions = 25;
const maxExpressionBytes = 4096;

const require = createRequire(import.meta.url);
const byType = new Map(actions.map((action) => [action.type, action]));

export interface PolicyCompilation {
  /** To be run only when there are no issues. */
  readonly policy: CompiledPolicy;
  /** In the order of the text, up to twenty. */
  readonly issues: readonly PolicyIssue[];
}

/** Reads, checks and compiles. Never throws. */
export function compilePolicy(text: string, layer: Layer): PolicyCompilation {
  const reader = new PolicyReader(text, layer);
  const policy = reader.read();
  return { policy, issues: reader.issues };
}

type Keys = readonly (string | number)[];

class PolicyReader {
  readonly issues: PolicyIssue[] = [];
  readonly #text: string;
  readonly #layer: Layer;

  constructor(text: string, layer: Layer) {
    this.#text = text;
    this.#layer = layer;
  }

  read(): CompiledPolicy {
    // Loaded when the first policy is looked at: every start would wait for its seventy files.
    const { parseYamlObject } = require("../lib/yaml.ts") as typeof Yaml;
    const phases: Partial<Record<Phase, readonly CompiledRule[]>> = {};
    let given: Readonly<Record<string, unknown>>;
    try {
      // JSON is YAML.
      given = parseYamlObject(this.#text);
    } catch (error) {
      const { message } = error as Error;
      const hint = /tag/i.test(message) ? '; an expression that begins with "!" needs quotes around it' : "";
      this.#wrong("", `must be an object in JSON or YAML: it ${message}${hint}`, "policy_unreadable");
      return { enabled: false, phases };
    }
    let enabled = true;
    for (const [name, value] of Object.entries(given)) {
      if (name === "enabled") {
        if (typeof value === "boolean") enabled = value;
        else this.#malformed("enabled", [name], "must be true or false");
        continue;
      }
      const phase = phaseNamed(name, this.#layer);
      if (phase === undefined) this.#unknownPhase(name);
      else if (phase !== name && Object.hasOwn(given, phase)) {
        this.#malformed(name, [name], `is an older name of ${phase}, which is there as well: give one of them`);
      } else phases[phase] = this.#rules(value, phase, name);
    }
    return { enabled, phases };
  }

  #unknownPhase(name: string): void {
    const known = phasesOf[this.#layer];
    if (name === "on_tcp_connect") {
      const message = "acts on connections, which the policy of an HTTPS edge cannot: use on_http_request";
      this.#wrong(name, message, "policy_connect_phase_refused");
      return;
    }
    const message = `is no phase here; known are: ${known.join(", ")}${didYouMean(name, known)}`;
    this.#wrong(shortened(name), message, "policy_phase_unknown");
  }

  #rules(given: unknown, phase: Phase, name: string): readonly CompiledRule[] {
    if (given === null) return [];
    if (!Array.isArray(given)) {
      this.#malformed(name, [name], "must be a list of rules: begin each with `-`");
      return [];
    }
    if (given.length > maxRules) {
      this.#wrong(name, `must have at most ${maxRules} rules, has ${given.length}`, "policy_rules_many");
      return [];
    }
    const environment = environmentOf(phase, this.#layer, actions);
    return given.map((rule: unknown, index) => this.#rule(rule, phase, index, [name, index], environment));
  }

  #rule(given: unknown, phase: Phase, index: number, keys: Keys, environment: Environment): CompiledRule {
    const path = pathOf(keys);
    const rule: CompiledRule = { phase, index, label: `${phase}[${index}]`, expressions: [], actions: [] };
    if (!isObject(given)) {
      this.#malformed(path, keys, "must be a rule: name, expressions, actions");
      return rule;
    }
    for (const key of Object.keys(given)) {
      if (ruleKeys.includes(key)) continue;
      const message = `is not known here; known are: ${ruleKeys.join(", ")}${didYouMean(key, ruleKeys)}`;
      this.#malformed(`${path}.${shortened(key)}`, [...keys, key], message);
    }
    const { name, expressions, actions: list } = given;
    const isNamed = typeof name === "string" || typeof name === "number";
    if (!isNamed && name !== undefined && name !== null) {
      this.#malformed(`${path}.name`, [...keys, "name"], "must be a text");
    }
    const label = isNamed ? `${rule.label} "${shortened(String(name))}"` : rule.label;
    return {
      ...rule,
      label,
      expressions: this.#expressions(expressions, label, [...keys, "expressions"], environment),
      actions: this.#actions(list, phase, [...keys, "actions"], environment),
    };
  }

  #expressions(given: unknown, label: string, keys: Keys, environment: Environment): readonly CompiledExpression[] {
    if (given === undefined || given === null) return [];
    const path = pathOf(keys);
    if (!Array.isArray(given)) {
      this.#malformed(path, keys, "must be a list of expressions");
      return [];
    }
    if (given.length > maxExpressions) {
      this.#wrong(path, `must have at most ${maxExpressions}, has ${given.length}`, "policy_rule_large");
      return [];
    }
    return given.flatMap((source: unknown, index) => {
      const at = `${path}[${index}]`;
      if (typeof source !== "string" && typeof source !== "boolean") {
        this.#malformed(at, [...keys, index], "must be an expression, as a text");
        return [];
      }
      const program = this.#program(String(source), at, environment, types.bool);
      if (!program) return [];
      // Its text may hold a credential, and not everybody who reads traces may read those (control K4).
      const unmatched = skipped(policyModuleName, `${label}: expression ${index + 1} is false`);
      return [{ program, unmatched }];
    });
  }

  #program(source: string, at: string, environment: Environment, result: Parameters<ActionScope["expression"]>[2]) {
    if (Buffer.byteLength(source) > maxExpressionBytes) {
      this.#wrong(at, `must be at most ${maxExpressionBytes} bytes`, "policy_expression_invalid");
      return undefined;
    }
    const compiled = compile(source, environment, result && { result });
    if (compiled.ok) return compiled.program;
    for (const issue of compiled.issues) this.#wrong(at, issueText(issue), "policy_expression_invalid");
    return undefined;
  }

  #actions(given: unknown, phase: Phase, keys: Keys, environment: Environment): readonly CompiledActionOf[] {
    const path = pathOf(keys);
    if (given === undefined || given === null || (Array.isArray(given) && given.length === 0)) {
      this.#wrong(path, "must have at least one action", "policy_actions_missing");
      return [];
    }
    if (!Array.isArray(given)) {
      this.#malformed(path, keys, "must be a list of actions");
      return [];
    }
    if (given.length > maxActions) {
      this.#wrong(path, `must have at most ${maxActions}, has ${given.length}`, "policy_rule_large");
      return [];
    }
    let ender: string | undefined;
    const compiled: CompiledActionOf[] = [];
    for (const [index, action] of given.entries()) {
      const found = this.#action(action, phase, [...keys, index], environment);
      if (!found) continue;
      const { type, terminating } = found.declaration;
      if (ender !== undefined) {
        const message = `stands behind "${ender}", which ends the phase: "${type}" would never run`;
        this.#wrong(`${path}[${index}]`, message, "policy_action_unreachable");
      } else if (terminating === "always") ender = type;
      compiled.push(found);
    }
    return compiled;
  }

  #action(given: unknown, phase: Phase, keys: Keys, environment: Environment): CompiledActionOf | undefined {
    const path = pathOf(keys);
    if (!isObject(given)) {
      this.#malformed(path, keys, "must be an action: type, config");
      return undefined;
    }
    for (const key of Object.keys(given)) {
      if (actionKeys.includes(key)) continue;
      const message = `is not known here; known are: ${actionKeys.join(", ")}${didYouMean(key, actionKeys)}`;
      this.#wrong(`${path}.${shortened(key)}`, message, "policy_config_unreadable");
    }
    const { type, config } = given;
    const declared = typeof type === "string" ? byType.get(type) : undefined;
    if (!declared) {
      this.#wrong(`${path}.type`, unknownAction(type), "policy_action_unknown");
      return undefined;
    }
    if (!declared.phases.includes(phase)) {
      const message = `must be an action of ${phase}: "${declared.type}" is one of ${declared.phases.join(", ")}`;
      this.#wrong(`${path}.type`, message, "policy_action_misplaced");
      return undefined;
    }
    if (declared.layers && !declared.layers.includes(this.#layer)) {
      const message = `must be an action for ${this.#layer}: "${declared.type}" is one for ${declared.layers.join(", ")}`;
      this.#wrong(`${path}.type`, message, "policy_action_protocol");
      return undefined;
    }
    const compiled = this.#configured(declared, config ?? {}, phase, `${path}.config`, environment);
    return compiled && { declaration: declared, compiled };
  }

  #configured(
    declared: ActionDeclaration,
    given: unknown,
    phase: Phase,
    path: string,
    environment: Environment,
  ): CompiledAction | undefined {
    if (!isObject(given)) {
      this.#wrong(path, "must be an object", "policy_config_unreadable");
      return undefined;
    }
    const raw = declared.raw ?? [];
    const plain = Object.fromEntries(Object.entries(given).filter(([name]) => !raw.includes(name)));
    const fields = Object.fromEntries(Object.entries(declared.config).filter(([name]) => !raw.includes(name)));
    const { doc, issues } = parseFields(fields, declared.widen?.(plain) ?? plain, "create");
    const config = { ...doc, ...Object.fromEntries(raw.map((name) => [name, given[name]])) };
    const before = this.issues.length;
    for (const issue of issues) this.#field(path, issue);
    for (const name of raw) {
      if (declared.config[name]?.required && (given[name] === undefined || given[name] === null)) {
        this.#wrong(`${path}.${name}`, "is required", "policy_field_missing");
      }
    }
    if (this.issues.length > before) return undefined;
    for (const rule of declared.rules ?? []) {
      const issue = rule(config as never, phase);
      if (issue) this.#field(path, issue);
    }
    if (this.issues.length > before) return undefined;
    const at = (field: string): string => (field === "" ? path : `${path}.${field}`);
    return declared.compile(config as never, {
      phase,
      layer: this.#layer,
      path: path.replace(/\.config$/, ""),
      template: (text, field) =>
        compileTemplate(text, environment, (message) =>
          this.#wrong(at(field), message, "policy_interpolation_invalid"),
        ),
      expression: (source, field, result) => this.#program(source, at(field), environment, result),
      wrong: (field, message, reason) => this.#wrong(at(field), message, reason ?? "policy_value_invalid"),
    });
  }

  #field(path: string, issue: Parameters<typeof fieldReason>[0]): void {
    this.#wrong(issue.path === "" ? path : `${path}.${issue.path}`, issue.message, fieldReason(issue));
  }

  #wrong(path: string, message: string, reason: RefusalName): void {
    if (this.issues.length < maxPolicyIssues) this.issues.push({ path, message, reason });
  }

  /** What is not of the form of a policy, with its line. */
  #malformed(path: string, keys: Keys, message: string): void {
    const { lineOfYaml } = require("../lib/yaml.ts") as typeof Yaml;
    const line = this.issues.length < maxPolicyIssues ? lineOfYaml(this.#text, keys) : undefined;
    this.#wrong(path, line === undefined ? message : `line ${line}: ${message}`, "policy_unreadable");
  }
}

const ruleKeys = ["name", "expressions", "actions"];
const actionKeys = ["type", "config"];

function unknownAction(type: unknown): string {
  const known = [...byType.keys()];
  if (typeof type !== "string") return `must name an action; known are: ${known.join(", ")}`;
  const why = Object.hasOwn(unsupportedActions, type) ? unsupportedActions[type] : undefined;
  if (why !== undefined) return `"${type}" is not supported by this server: ${why}`;
  return `"${shortened(type)}" is not known; known are: ${known.join(", ")}${didYouMean(type, known)}`;
}

function pathOf(keys: Keys): string {
  return keys.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
