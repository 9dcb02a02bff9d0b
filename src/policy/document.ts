/** A traffic policy as it is written: whether this server could read it. Expressions are only bounded. */
import { createRequire } from "node:module";
import type * as Yaml from "../lib/yaml.ts";
import { f } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { parseFields } from "../schema/parse.ts";
import type { Phase } from "./action.ts";
import type { DeclaredAction } from "./declared-action.ts";
import { actions, unsupportedActions } from "./actions.ts";

/** What a policy may be refused with. */
export const policyRefusals = ["policy_unreadable", "policy_config_unreadable", "policy_action_unknown"] as const;
/** Bytes of a policy. */
export const maxPolicyBytes = 65_536;

const require = createRequire(import.meta.url);
/** Per phase, and per rule. */
const maxRules = 100;
const maxActions = 20;

type Layer = "connection" | "http";

const phasesOf: Readonly<Record<Layer, readonly Phase[]>> = {
  connection: ["on_tcp_connect"],
  http: ["on_tcp_connect", "on_http_request", "on_http_response"],
};

const olderNames: Readonly<Record<Layer, ReadonlyMap<string, Phase>>> = {
  connection: new Map([["inbound", "on_tcp_connect"]]),
  http: new Map([
    ["inbound", "on_http_request"],
    ["outbound", "on_http_response"],
  ]),
};

const ruleFields = {
  name: f.string("Name of the rule."),
  expressions: f.list("What must hold.", f.string("An expression.", { minBytes: 1, maxBytes: 4096 }), { maxItems: 25 }),
};

const byType = new Map(actions.map((action) => [action.type, action]));

/** The first thing wrong with the policy that `field` holds, with its place inside at the front of the message. */
export function policyIssue(text: string, layer: Layer, field: string): Issue | undefined {
  const issue = firstIssue(text, layer);
  if (!issue) return undefined;
  const { path, message, reason = "policy_config_unreadable" } = issue;
  return { path: field, message: path === "" ? message : `${path} ${message}`, reason };
}

function firstIssue(text: string, layer: Layer): Issue | undefined {
  // Loaded when the first policy is looked at: every start would wait for its seventy files.
  const { parseYamlObject } = require("../lib/yaml.ts") as typeof Yaml;
  let policy: Readonly<Record<string, unknown>>;
  try {
    // JSON is YAML.
    policy = parseYamlObject(text);
  } catch (error) {
    const message = `must be an object in JSON or YAML: it ${(error as Error).message}`;
    return { path: "", message, reason: "policy_unreadable" };
  }
  const twice = Object.keys(policy).find((name) => policyHas(policy, olderNames[layer].get(name)));
  if (twice !== undefined) {
    const newer = olderNames[layer].get(twice);
    return {
      path: shortened(twice),
      message: `is an older name of ${newer}, which is there as well: give one of them`,
    };
  }
  return first(Object.entries(policy), ([name, value]) =>
    name === "enabled" ? enabledIssue(value) : phaseIssue(name, value, layer),
  );
}

function policyHas(policy: Readonly<Record<string, unknown>>, phase: Phase | undefined): boolean {
  return phase !== undefined && Object.hasOwn(policy, phase);
}

function enabledIssue(value: unknown): Issue | undefined {
  return typeof value === "boolean" ? undefined : { path: "enabled", message: "must be true or false" };
}

function phaseIssue(name: string, rules: unknown, layer: Layer): Issue | undefined {
  const phase = phasesOf[layer].find((one) => one === name) ?? olderNames[layer].get(name);
  if (!phase) {
    return { path: shortened(name), message: `is no phase here; known are: ${phasesOf[layer].join(", ")}` };
  }
  if (rules === null) return undefined;
  if (!Array.isArray(rules)) return { path: name, message: "must be a list of rules" };
  if (rules.length > maxRules) return { path: name, message: `must have at most ${maxRules} rules` };
  return first(rules, (rule: unknown, index) => ruleIssue(rule, phase, `${name}[${index}]`));
}

function ruleIssue(rule: unknown, phase: Phase, path: string): Issue | undefined {
  if (!isObject(rule)) return { path, message: "must be a rule: name, expressions, actions" };
  const { actions: list, ...rest } = rule;
  const [issue] = parseFields(ruleFields, rest, "create").issues;
  if (issue) return inside(path, issue);
  if (!Array.isArray(list)) return { path: `${path}.actions`, message: "must be a list of actions" };
  if (list.length > maxActions) return { path: `${path}.actions`, message: `must have at most ${maxActions}` };
  return first(list, (action: unknown, index) => actionIssue(action, phase, `${path}.actions[${index}]`));
}

function actionIssue(action: unknown, phase: Phase, path: string): Issue | undefined {
  if (!isObject(action)) return { path, message: "must be an action: type, config" };
  const { type, config, ...rest } = action;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    return { path: `${path}.${shortened(unknown)}`, message: "is not known here; known are: type, config" };
  }
  const declared = typeof type === "string" ? byType.get(type) : undefined;
  if (!declared) return { path: `${path}.type`, message: unknownAction(type), reason: "policy_action_unknown" };
  if (!declared.phases.includes(phase)) {
    const message = `must be an action of ${phase}: "${declared.type}" is one of ${declared.phases.join(", ")}`;
    return { path: `${path}.type`, message };
  }
  return configIssue(declared, config ?? {}, `${path}.config`);
}

function configIssue(declared: DeclaredAction, config: unknown, path: string): Issue | undefined {
  if (!isObject(config)) return { path, message: "must be an object" };
  const { doc, issues } = parseFields(declared.config, config, "create");
  const issue = issues[0] ?? declared.rule?.(doc);
  return issue && inside(path, issue);
}

function unknownAction(type: unknown): string {
  const known = actions.map((one) => one.type).join(", ");
  if (typeof type !== "string") return `must name an action; known are: ${known}`;
  const what = unsupportedActions.includes(type) ? "is not supported by this server" : "is not known";
  return `"${shortened(type)}" ${what}; known are: ${known}`;
}

/** What is wrong with a field, as something wrong with the policy. */
function inside(path: string, { path: inner, message }: Issue): Issue {
  return { path: inner === "" ? path : `${path}.${inner}`, message };
}

function first<T>(items: readonly T[], find: (item: T, index: number) => Issue | undefined): Issue | undefined {
  for (const [index, item] of items.entries()) {
    const issue = find(item, index);
    if (issue) return issue;
  }
  return undefined;
}

function shortened(text: string): string {
  return text.slice(0, 64);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
