/** Runs a case of the specification, and returns the difference. */
import { inspect } from "node:util";
import { checkTree } from "../../src/cel/checking/check-tree.ts";
import { parseExpression } from "../../src/cel/syntax/parser.ts";
import { compileSource } from "../../src/cel/program.ts";
import { defineFunction, defineMember, defineOverload } from "../../src/cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../src/cel/checking/function-declarations.ts";
import { defineEnvironment } from "../../src/cel/checking/environment.ts";
import type { Environment, VariableDeclaration } from "../../src/cel/checking/environment.ts";
import { equalValues } from "../../src/cel/values/equal.ts";
import { CelFailure } from "../../src/cel/values/cel-failure.ts";
import { issueText } from "../../src/cel/syntax/issue.ts";
import { defaultLimits } from "../../src/cel/values/cel-limits.ts";
import { Run } from "../../src/cel/values/budget.ts";
import type { Type } from "../../src/cel/checking/cel-types.ts";
import { kindOf } from "../../src/cel/values/cel-values.ts";
import type { Value } from "../../src/cel/values/cel-values.ts";
import { refusedSooner } from "./left-out.ts";
import { printKinds, printTypes } from "./print-tree.ts";
import { typeFrom, valueFrom } from "./spec-cases.ts";
import type { Json, SpecCase } from "./spec-cases.ts";

type Activation = Readonly<Record<string, Value>>;

/** Returns the declarations of the case, and the given functions. */
function environmentOf(
  { original }: SpecCase,
  functions: readonly FunctionDeclaration[],
  names: Readonly<Record<string, Type>> = {},
): Environment {
  const bindings = bindingsOf(original);
  const isLoose = original["disableCheck"] === true;
  const variables: Record<string, VariableDeclaration> = {};
  for (const [name, type] of Object.entries(names)) variables[name] = { type, read: () => undefined };
  const own: FunctionDeclaration[] = [];
  for (const declared of (original["typeEnv"] as readonly Json[] | undefined) ?? []) {
    const name = String(declared["name"]);
    if (declared["function"]) own.push(functionFrom(name, declared["function"] as Json));
    // Without the checker, only bound names exist.
    else if (!isLoose || Object.hasOwn(bindings, name)) {
      const type = typeFrom((declared["ident"] as Json)["type"] as Json);
      variables[name] = { type, read: (activation: Activation) => activation[name] };
    }
  }
  const container = original["container"];
  return defineEnvironment({
    variables,
    functions: [...functions, ...own],
    ...(typeof container === "string" && { container }),
  });
}

function functionFrom(name: string, json: Json): FunctionDeclaration {
  const overloads = (json["overloads"] as readonly Json[]).map((one) => {
    const parameters = ((one["params"] as readonly Json[] | undefined) ?? []).map(typeFrom);
    const declare = one["isInstanceFunction"] === true ? defineMember : defineOverload;
    const unbound = (): CelFailure => new CelFailure("not bound");
    return declare(String(one["overloadId"]), parameters, typeFrom(one["resultType"] as Json), unbound);
  });
  return defineFunction(name, ...overloads);
}

function bindingsOf(original: Json): Activation {
  const given = (original["bindings"] ?? {}) as Readonly<Record<string, Json>>;
  return Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, valueFrom(value as Json)]));
}

/** Returns undefined if the result matches the case. */
export function differenceOf(one: SpecCase, functions: readonly FunctionDeclaration[]): string | undefined {
  const { original, expression } = one;
  const environment = environmentOf(one, functions);
  const compiled = compileSource(expression, environment, { isLoose: original["disableCheck"] === true });
  const wantsFailure = original["evalError"] !== undefined;
  if (!compiled.ok) {
    // A failed evaluation does not justify rejecting an expression that cel-go accepts.
    const mayRefuse = wantsFailure && (one.checkedAst === undefined || refusedSooner.includes(one.name));
    return mayRefuse ? undefined : compiled.issues.map(issueText).join("; ");
  }
  const result = compiled.program.evaluate(bindingsOf(original));
  if (result instanceof CelFailure) return wantsFailure ? undefined : result.message;
  if (wantsFailure) return `it is ${inspect(result)} and must fail`;
  const wanted = original["value"] === undefined ? true : valueFrom(original["value"] as Json);
  return isSame(result, wanted) ? undefined : `it is ${inspect(result)} and must be ${inspect(wanted)}`;
}

/** Whether the values are equal and of the same kind at all levels. NaN equals NaN. */
function isSame(one: Value, other: Value): boolean {
  if (kindOf(one) !== kindOf(other)) return false;
  if (typeof one === "number") return Object.is(one, other) || one === other;
  return equalValues(one, other, bigRun()) === true;
}

function bigRun(): Run {
  const run = new Run(defaultLimits);
  run.steps = defaultLimits.steps;
  return run;
}

/** Returns the difference from cel-go's tree or rejection. */
export function parseDifference({ expression, ast }: SpecCase): string | undefined {
  const parsed = parseExpression(expression);
  if (!parsed.ok) return ast === undefined ? undefined : parsed.issues.map(issueText).join("; ");
  return ast === undefined ? "it is read" : firstDifference(printKinds(parsed.tree.root), ast);
}

/** Returns the difference from cel-go's types and overloads or rejection. */
export function checkDifference(
  one: SpecCase,
  functions: readonly FunctionDeclaration[],
  names?: Readonly<Record<string, Type>>,
): string | undefined {
  const parsed = parseExpression(one.expression);
  const checked = parsed.ok ? checkTree(parsed.tree, environmentOf(one, functions, names)) : parsed;
  if (!checked.ok) {
    return one.checkedAst === undefined || one.error !== undefined
      ? undefined
      : checked.issues.map(issueText).join("; ");
  }
  if (one.checkedAst === undefined || one.error !== undefined) return "it is accepted";
  const theirs = one.checkedAst.replaceAll(optionalIds, "");
  // Listing overloads for numbers of different kinds is an option of cel-go that differs between suites.
  const all = firstDifference(printTypes(checked.checked), theirs);
  return all && firstDifference(printTypes(checked.checked, { withMixed: false }), theirs) && all;
}

/** Overloads for optional values. */
const optionalIds = /\|optional_(?:map_index_value|list_index_int|map_optindex\w*)/g;

function firstDifference(ours: string, theirs: string): string | undefined {
  if (ours === theirs) return undefined;
  const lines = theirs.split("\n");
  const at = ours.split("\n").findIndex((line, place) => line !== lines[place]);
  return `line ${at + 1} is ${ours.split("\n")[at]} and must be ${lines[at]}`;
}
