/** Reads, checks and compiles the actions of one rule. */
import type { Environment } from "../cel/checking/environment.ts";
import type { CheckedTree } from "../cel/checking/checked.ts";
import type { Program } from "../cel/program.ts";
import { tooMuchToCompile } from "../cel/syntax/compile-budget.ts";
import type { CompileBudget } from "../cel/syntax/compile-budget.ts";
import { compilePattern, patternSteps } from "../cel/values/regex.ts";
import { parseFields } from "../schema/parse-fields.ts";
import type { Steps } from "../lib/slices.ts";
import type { Issue } from "../schema/fields.ts";
import type { ActionDeclaration, ActionScope, CompiledAction, Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import { actions, actionsByName, unsupportedActions } from "./actions/index.ts";
import type { CompiledActionOf } from "./compiled-policy.ts";
import { pathOf } from "./findings.ts";
import type { Findings, Keys } from "./findings.ts";
import { tellsSecret } from "./lint/secret-uses.ts";
import type { Taint } from "./lint/taint.ts";
import { suggestNearest, fieldReason, shortenText } from "./policy-issue.ts";
import { compileTemplate } from "./language/template.ts";
import { textsAsWritten } from "./language/unquoted.ts";
import { isJsonObject } from "../lib/json.ts";

export const maxActions = 20;

/** Context for compiling the actions of one phase. */
export interface ActionReader {
  readonly findings: Findings;
  readonly phase: Phase;
  readonly layer: Layer;
  readonly environment: Environment;
  /** Values that reveal secrets, in the part of the phase read so far. */
  readonly taint: Taint;
  /** Logins in the part of the phase read so far, by the key that distinguishes them. */
  readonly logins: Map<string, string>;
  /** Budget of the whole policy. */
  readonly budget: CompileBudget;
  /** Compiles an expression. Returns undefined and reports an issue if it is invalid. */
  program(
    source: string,
    at: string,
    result?: Parameters<ActionScope["expression"]>[2],
  ): { readonly program: Program; readonly checked: CheckedTree } | undefined;
}

export function* compileActions(list: unknown, keys: Keys, reader: ActionReader): Steps<readonly CompiledActionOf[]> {
  const { findings } = reader;
  const path = pathOf(keys);
  if (list === undefined || list === null || (Array.isArray(list) && list.length === 0)) {
    findings.wrong(path, "must have at least one action", "policy_actions_missing");
    return [];
  }
  if (!Array.isArray(list)) {
    findings.malformed(path, keys, "must be a list of actions");
    return [];
  }
  if (list.length > maxActions) {
    findings.wrong(path, `must have at most ${maxActions}, has ${list.length}`, "policy_rule_large");
    return [];
  }
  let ender: string | undefined;
  let login: string | undefined;
  const compiled: CompiledActionOf[] = [];
  for (const [index, action] of list.entries()) {
    yield;
    const found = compileAction(action, [...keys, index], reader);
    if (!found) continue;
    const { type, terminating } = found.declaration;
    if (ender !== undefined) {
      const message = `follows "${ender}", which ends the phase: "${type}" would never run`;
      findings.wrong(`${path}[${index}]`, message, "policy_action_unreachable");
    } else if (terminating === "always") ender = type;
    if (found.compiled.login) {
      reportSharedLogin(found.compiled.login.authId, `${path}[${index}]`, login, reader);
      login = `${path}[${index}]`;
    }
    compiled.push(found);
  }
  return compiled;
}

/** Reports a login that shares its rule with another login, or that has the same key as another login of the policy. */
function reportSharedLogin(
  authId: string,
  at: string,
  inRule: string | undefined,
  { findings, logins }: ActionReader,
): void {
  const same = logins.get(authId);
  logins.set(authId, at);
  if (inRule !== undefined) {
    findings.wrong(at, `requires a login in addition to ${inRule}: a rule can have only one`, "policy_logins_many");
  } else if (same !== undefined) {
    const how = authId === "" ? "also no auth_id" : `also the auth_id "${shortenText(authId)}"`;
    findings.wrong(at, `requires the same login as ${same}, which has ${how}`, "policy_logins_many");
  }
}

function compileAction(action: unknown, keys: Keys, reader: ActionReader): CompiledActionOf | undefined {
  const { findings, phase, layer } = reader;
  const path = pathOf(keys);
  if (!isJsonObject(action)) {
    findings.malformed(path, keys, "must be an action: type, config");
    return undefined;
  }
  for (const key of Object.keys(action)) {
    if (actionKeys.includes(key)) continue;
    const message = `is unknown; known are: ${actionKeys.join(", ")}${suggestNearest(key, actionKeys)}`;
    findings.wrong(`${path}.${shortenText(key)}`, message, "policy_config_unreadable");
  }
  const { type, config } = action;
  const declared = typeof type === "string" ? actionsByName.get(type) : undefined;
  if (!declared) {
    findings.wrong(`${path}.type`, unknownAction(type), "policy_action_unknown");
    return undefined;
  }
  if (!declared.phases.includes(phase)) {
    const message = `must be an action of ${phase}: "${declared.type}" belongs to ${declared.phases.join(", ")}`;
    findings.wrong(`${path}.type`, message, "policy_action_misplaced");
    return undefined;
  }
  if (declared.layers && !declared.layers.includes(layer)) {
    const message = `must be an action for ${layer}: "${declared.type}" is for ${declared.layers.join(", ")}`;
    findings.wrong(`${path}.type`, message, "policy_action_protocol");
    return undefined;
  }
  if (phase === "on_tcp_connect" && layer === "http" && declared.type === "forward-internal") {
    const message = "must be an action of on_http_request: an HTTPS endpoint forwards requests, not connections";
    findings.wrong(`${path}.type`, message, "policy_action_misplaced");
    return undefined;
  }
  const compiled = configureAction(declared, config ?? {}, [...keys, "config"], reader);
  if (declared.readsPath === true) findings.readsPath = true;
  return compiled && { declaration: declared, compiled };
}

function configureAction(
  declared: ActionDeclaration,
  input: unknown,
  keys: Keys,
  reader: ActionReader,
): CompiledAction | undefined {
  const { findings } = reader;
  const path = pathOf(keys);
  if (!isJsonObject(input)) {
    findings.wrong(path, "must be an object", "policy_config_unreadable");
    return undefined;
  }
  const raw = declared.raw ?? [];
  const plain = Object.fromEntries(Object.entries(input).filter(([name]) => !raw.includes(name)));
  const fields = Object.fromEntries(Object.entries(declared.config).filter(([name]) => !raw.includes(name)));
  const texts = textsAsWritten(fields, plain, keys, (at) => findings.written(at));
  const { doc, issues } = parseFields(fields, declared.widen?.(texts) ?? texts, "create");
  const config = { ...doc, ...Object.fromEntries(raw.map((name) => [name, input[name]])) };
  const before = findings.issues.length;
  for (const issue of issues) fieldIssue(path, issue, findings);
  for (const name of raw) {
    if (declared.config[name]?.required && (input[name] === undefined || input[name] === null)) {
      findings.wrong(`${path}.${name}`, "is required", "policy_field_missing");
    }
  }
  if (findings.issues.length > before) return undefined;
  for (const rule of declared.rules ?? []) {
    const issue = rule(config as never, reader.phase);
    if (issue) fieldIssue(path, issue, findings);
  }
  if (findings.issues.length > before) return undefined;
  return declared.compile(config as never, scopeOf(declared, path, reader));
}

function scopeOf(declared: ActionDeclaration, path: string, reader: ActionReader): ActionScope {
  const { findings, phase, layer, environment, budget } = reader;
  const at = (field: string): string => (field === "" ? path : `${path}.${field}`);
  return {
    phase,
    layer,
    path: path.replace(/\.config$/, ""),
    budget,
    template: (text, field) =>
      compileTemplate(
        text,
        environment,
        (issue) => findings.wrongIn(at(field), text, issue, "policy_interpolation_invalid"),
        (checked, offset) => {
          findings.read(at(field), text, checked, offset);
          followSecret(checked, { declared, field, offset, text, path: at(field) }, reader);
        },
        budget,
      ),
    pattern(source, field) {
      const pattern = budget.take(patternSteps(source)) ? compilePattern(source) : tooMuchToCompile;
      if (typeof pattern !== "string") return pattern;
      findings.wrong(at(field), pattern, "policy_pattern_invalid");
      return undefined;
    },
    expression(source, field, result) {
      const found = reader.program(source, at(field), result);
      if (found) followSecret(found.checked, { declared, field, offset: 0, text: source, path: at(field) }, reader);
      return found?.program;
    },
    wrong: (field, message, reason) => findings.wrong(at(field), message, reason ?? "policy_value_invalid"),
    doubtful: (field, message) => findings.doubtful(at(field), message),
  };
}

interface Interpolated {
  readonly declared: ActionDeclaration;
  readonly field: string;
  readonly text: string;
  readonly offset: number;
  readonly path: string;
}

/** Records where a value sends a secret. */
function followSecret(
  checked: CheckedTree,
  { declared, field, text, offset, path }: Interpolated,
  { taint, findings, phase }: ActionReader,
): void {
  if (!tellsSecret(checked, taint)) return;
  for (const source of namesRevealedBy(declared, field, phase)) taint.add(source);
  const whom = declared.tells?.(phase);
  if (whom === undefined) return;
  const message = `a secret, or a value derived from it, is visible to ${whom}`;
  findings.doubtfulIn(path, text, offset, { offset: 0, message, hint: "remove it, or compare it instead" });
}

/** Actions whose results do not repeat their configuration. */
const keepsSecret: ReadonlySet<string> = new Set([
  "basic-auth",
  "jwt-validation",
  "oauth",
  "openid-connect",
  "saml",
  "terminate-tls",
  "verify-webhook",
]);

/** Yields the names that reveal a secret after an action with a secret in a field ran. */
function* namesRevealedBy({ type, results }: ActionDeclaration, field: string, phase: Phase): Generator<string> {
  const [, variable] = /^vars\[\d+\]\.(\w+)/.exec(field) ?? [];
  if (type === "set-vars" && variable !== undefined) yield `vars.${variable}`;
  const [, header] = /^headers\.(.+)$/.exec(field) ?? [];
  if (type === "add-headers" && header !== undefined) {
    yield `${phase === "on_http_request" ? "req" : "res"}.headers.${header.toLowerCase()}`;
  }
  if (type === "url-rewrite") yield "req.url";
  if (results && !keepsSecret.has(type)) yield `actions.ngrok.${results.name}`;
}

function fieldIssue(path: string, issue: Issue, findings: Findings): void {
  findings.wrong(issue.path === "" ? path : `${path}.${issue.path}`, issue.message, fieldReason(issue));
}

const actionKeys = ["type", "config"];

function unknownAction(type: unknown): string {
  const known = actions.map((action) => action.type);
  if (typeof type !== "string") return `must name an action; known are: ${known.join(", ")}`;
  const why = Object.hasOwn(unsupportedActions, type) ? unsupportedActions[type] : undefined;
  if (why !== undefined) return `"${type}" is not supported by this server: ${why}`;
  return `"${shortenText(type)}" is unknown; known are: ${known.join(", ")}${suggestNearest(type, known)}`;
}
