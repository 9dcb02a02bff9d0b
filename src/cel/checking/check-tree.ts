/** Determines the types of a tree's parts and finds all errors before evaluation. */
import type { CheckedTree, ResolvedCall } from "./checked.ts";
import type { FunctionDeclaration, Native, Overload } from "./function-declarations.ts";
import { lookUp, variableNamed } from "./environment.ts";
import type { Environment, Variable } from "./environment.ts";
import {
  hintForCall,
  hintForField,
  hintForFunction,
  hintForMissingField,
  hintForName,
  hintForResult,
  shortenName,
} from "./hints.ts";
import { CompileBudget } from "../syntax/compile-budget.ts";
import { issueAt } from "../syntax/issue.ts";
import type { Issue } from "../syntax/issue.ts";
import { isMacro } from "../syntax/macros.ts";
import { SourceFault } from "../syntax/source-fault.ts";
import { childrenOf, pathOf } from "../syntax/tree.ts";
import type { CallNode, Entries, ListNode, Logic, Loop, Name, Node, Select, Tree } from "../syntax/tree.ts";
import { listOf, mapOf, typePhrase, types } from "./cel-types.ts";
import type { Type } from "./cel-types.ts";
import { Bindings } from "./unify.ts";
import { kindOf } from "../values/cel-values.ts";

export interface CheckOptions {
  /** Required type of the expression. */
  readonly result?: Type;
  /** Leaves type errors to the evaluation. For expressions whose variables are not declared. */
  readonly isLoose?: boolean;
  /** Shared by all expressions of a policy. Default: a separate budget. */
  readonly budget?: CompileBudget;
}

export type Checked =
  | { readonly ok: true; readonly checked: CheckedTree }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Enough for a reader. Further issues appear when these are fixed. */
const maxIssues = 20;

/** Budget for suggestions, which compare a name with all declared ones. */
const hintSteps = 1500;

/** Ends a check that has reached the maximum number of issues. */
const enough = new Error("the maximum number of issues is reached");

/** Never throws. Returns all issues, up to twenty, in source order. */
export function checkTree(tree: Tree, environment: Environment, options: CheckOptions = {}): Checked {
  const checker = new Checker(tree, environment, options);
  let checked: CheckedTree | undefined;
  try {
    const type = checker.visit(tree.root);
    if (options.result) checker.wants(tree.root, type, options.result);
    if (checker.issues.length === 0) checked = checker.checked();
  } catch (error) {
    if (error instanceof SourceFault) {
      return { ok: false, issues: [issueAt(tree.source, error.offset, error.message, error.hint)] };
    }
    if (error !== enough) throw error;
  }
  if (checked) return { ok: true, checked };
  return { ok: false, issues: [...checker.issues].sort((one, other) => one.offset - other.offset) };
}

interface NameScope {
  readonly name: string;
  readonly type: Type;
  readonly outer: NameScope | undefined;
}

class Checker {
  readonly issues: Issue[] = [];
  readonly #tree: Tree;
  readonly #environment: Environment;
  readonly #isLoose: boolean;
  readonly #budget: CompileBudget;
  readonly #bindings: Bindings;
  readonly #types: Type[];
  readonly #variables = new Map<number, Variable>();
  readonly #calls = new Map<number, ResolvedCall>();
  #scope: NameScope | undefined;

  constructor(tree: Tree, environment: Environment, { isLoose = false, budget = new CompileBudget() }: CheckOptions) {
    this.#tree = tree;
    this.#environment = environment;
    this.#isLoose = isLoose;
    this.#budget = budget;
    this.#bindings = new Bindings(budget);
    this.#types = Array.from({ length: tree.nodes }, () => types.dyn);
  }

  checked(): CheckedTree {
    const found = this.#types.map((type) => this.#bindings.resolve(type, true));
    return { tree: this.#tree, types: found, variables: this.#variables, calls: this.#calls };
  }

  visit(node: Node): Type {
    const type = this.#typeOf(node);
    const known = this.#isLoose ? types.dyn : type;
    this.#types[node.id] = known;
    return known;
  }

  wants(node: Node, actual: Type, wanted: Type): void {
    if (this.#isLoose || this.#bindings.fit([actual], [wanted])) return;
    const found = this.#bindings.resolve(actual, true);
    this.#refuse(
      node.from,
      `this must be ${typePhrase(wanted)}, it is ${typePhrase(found)}`,
      hintForResult(wanted, found),
    );
  }

  #refuse(offset: number, message: string, hint?: string): Type {
    if (this.#isLoose) return types.dyn;
    this.#budget.spend(hintSteps);
    this.issues.push(issueAt(this.#tree.source, offset, message, hint));
    if (this.issues.length === maxIssues) throw enough;
    return types.dyn;
  }

  #typeOf(node: Node): Type {
    switch (node.kind) {
      case "literal":
        return literalType(node.value);
      case "name":
        return this.#name(node);
      case "select":
        return this.#select(node);
      case "call":
        return this.#call(node);
      case "logic":
        return this.#logic(node);
      case "list":
        return this.#list(node);
      case "map":
        return this.#map(node);
      case "loop":
        return this.#loop(node);
    }
  }

  #local(name: string): NameScope | undefined {
    let scope = this.#scope;
    while (scope && scope.name !== name) scope = scope.outer;
    return scope;
  }

  #declared(node: Name | Select): Variable | undefined {
    // The path is built again for each part of a chain.
    this.#budget.spend(node.depth / 8);
    const named = pathOf(node);
    if (!named || (!named.isRooted && this.#local(named.path.split(".", 1)[0] as string))) return undefined;
    return variableNamed(this.#environment, named.path, named.isRooted);
  }

  #name(node: Name): Type {
    const local = node.isRooted ? undefined : this.#local(node.name);
    if (local) return local.type;
    const variable = this.#declared(node);
    if (!variable) return this.#unknown(node);
    this.#variables.set(node.id, variable);
    return variable.type;
  }

  #unknown(node: Name | Select): Type {
    const { path } = pathOf(node) as { path: string };
    return this.#refuse(node.from, `there is no "${shortenName(path)}"`, hintForName(path, this.#environment));
  }

  #select(node: Select): Type {
    // Also for `has(a.b)`, where `a.b` is declared.
    const variable = this.#declared(node.isTest ? { ...node, isTest: false } : node);
    if (variable) {
      this.#variables.set(node.id, variable);
      return node.isTest ? types.bool : variable.type;
    }
    if (this.#isUndeclared(node.operand)) {
      const whole = node.isTest ? { ...node, isTest: false } : node;
      const known = pathOf(whole) ? this.#unknown(whole) : types.dyn;
      return node.isTest ? types.bool : known;
    }
    const field = this.#field(node, this.#bindings.resolve(this.visit(node.operand)));
    return node.isTest ? types.bool : field;
  }

  /** Whether it starts with an undeclared name, so that one issue covers the whole chain. */
  #isUndeclared(node: Node): boolean {
    const path = pathOf(node);
    if (!path || (node.kind !== "name" && node.kind !== "select")) return false;
    for (let part: Node = node; ; part = part.operand) {
      if (part.kind === "name" && !part.isRooted && this.#local(part.name)) return false;
      if ((part.kind === "name" || part.kind === "select") && this.#declared(part)) return false;
      if (part.kind !== "select") return true;
    }
  }

  #field(node: Select, from: Type): Type {
    switch (from.is) {
      case "nullable":
        return asNullable(this.#field(node, from.of));
      case "map":
        return from.of;
      case "object": {
        const type = from.fields.get(node.field);
        if (type) return type;
        const hint = hintForField(node.field, from.fields.keys());
        return this.#refuse(node.at, `${typePhrase(from)} has no field "${shortenName(node.field)}"`, hint);
      }
      case "variable":
        this.#bindings.fit([from], [types.dyn]);
        return types.dyn;
      case "dyn":
        return types.dyn;
      default:
        return this.#refuse(
          node.at,
          `${typePhrase(this.#bindings.resolve(from, true))} has no fields, there is ".${shortenName(node.field)}"`,
          hintForMissingField(node.field, from) ?? hintForName(pathOf(node)?.path ?? node.field, this.#environment),
        );
    }
  }

  #call(node: CallNode): Type {
    const { functions } = this.#environment;
    const target = node.target && pathOf(node.target);
    const isLocal = target && !target.isRooted && this.#local(target.path.split(".", 1)[0] as string) !== undefined;
    const qualified =
      target && !isLocal && lookUp(functions, `${target.path}.${node.name}`, this.#environment, target.isRooted);
    if (qualified) return this.#resolve(node, qualified, true);
    const isRooted = node.name.startsWith(".");
    const name = isRooted ? node.name.slice(1) : node.name;
    const declared = node.target ? functions.get(name) : lookUp(functions, name, this.#environment, isRooted);
    if (declared) return this.#resolve(node, declared, false);
    // The variable of a macro with wrong arguments does not exist either.
    const inside = isMacro(name) ? [] : childrenOf(node);
    for (const child of inside) if (!this.#isUndeclared(child) || child !== node.target) this.visit(child);
    const full = target && node.target && this.#isUndeclared(node.target) ? `${target.path}.${name}` : name;
    return this.#refuse(
      node.at,
      `there is no function "${shortenName(full)}"`,
      hintForFunction(full, this.#environment),
    );
  }

  #resolve(node: CallNode, { name, overloads }: FunctionDeclaration, isQualified: boolean): Type {
    const children = node.target && !isQualified ? [node.target, ...node.args] : node.args;
    const args = children.map((child) => this.visit(child));
    const field = name === "_[_]" && this.#objectField(node, args[0] as Type);
    if (field) return field;
    const isMember = node.target !== undefined && !isQualified;
    const styled = overloads.filter((overload) => overload.isMember === isMember);
    if (this.#isLoose) {
      const fits = styled.filter(({ parameters }) => parameters.length === args.length);
      if (fits.length > 0) this.#calls.set(node.id, { name, overloads: fits, isQualified, prepared: undefined });
      return types.dyn;
    }
    const mixes =
      this.#environment.mixesNumbers || args.some((type) => this.#bindings.resolve(type, true).is === "dyn");
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const overload of styled) {
      if (overload.mixesNumbers === true && !mixes) continue;
      const [own, ...parameters] = this.#bindings.instance([overload.result, ...overload.parameters]) as [
        Type,
        ...Type[],
      ];
      if (!this.#bindings.fit(args, parameters)) continue;
      fitting.push(overload);
      const its = this.#bindings.resolve(own);
      result = result === undefined || this.#bindings.same(result, its) ? (result ?? its) : types.dyn;
    }
    if (result === undefined) return this.#misfit(node, name, children, args, overloads);
    const prepared = fitting.length === 1 ? this.#prepare(fitting[0] as Overload, children, node) : undefined;
    this.#calls.set(node.id, { name, overloads: fitting, isQualified, prepared });
    return result;
  }

  /** `object['field']` is `object.field`. */
  #objectField(node: CallNode, from: Type): Type | undefined {
    const type = this.#bindings.resolve(from);
    const whole = type.is === "nullable" ? type.of : type;
    const [operand, key] = node.args;
    if (whole.is !== "object" || operand === undefined || key?.kind !== "literal" || typeof key.value !== "string") {
      return undefined;
    }
    const select: Select = { ...node, kind: "select", at: key.from, operand, field: key.value, isTest: false };
    const variable = this.#declared(select);
    if (!variable) return this.#field(select, type);
    this.#variables.set(node.id, variable);
    return variable.type;
  }

  #prepare(overload: Overload, children: readonly Node[], node: CallNode): Native | undefined {
    const constants = children.map((child) => (child.kind === "literal" ? child.value : undefined));
    const prepared = overload.prepare?.(constants, this.#budget);
    if (typeof prepared !== "string") return prepared;
    this.#refuse(children.findLast((child) => child.kind === "literal")?.from ?? node.at, prepared);
    return undefined;
  }

  #misfit(
    node: CallNode,
    name: string,
    children: readonly Node[],
    args: readonly Type[],
    overloads: readonly Overload[],
  ): Type {
    const found = args.map((type) => this.#bindings.resolve(type, true));
    const isMember = node.target !== undefined;
    const { message, hint } = hintForCall({ name, isMember, children, found, overloads, source: this.#tree.source });
    return this.#refuse(node.at, message, hint);
  }

  #logic(node: Logic): Type {
    for (const operand of node.operands) this.wants(operand, this.visit(operand), types.bool);
    return types.bool;
  }

  /** The common type of alternatives: the one that the others fit, or dyn. */
  #join(one: Type | undefined, other: Type): Type {
    if (one === undefined) return other;
    return this.#bindings.fit([one], [other]) ? this.#bindings.moreGeneral(one, other) : types.dyn;
  }

  #list(node: ListNode): Type {
    let of: Type | undefined;
    for (const item of node.items) of = this.#join(of, this.visit(item));
    return listOf(of ?? this.#bindings.fresh());
  }

  #map(node: Entries): Type {
    let key: Type | undefined;
    let of: Type | undefined;
    for (const [name, value] of node.entries) {
      key = this.#join(key, this.visit(name));
      of = this.#join(of, this.visit(value));
    }
    return mapOf(key ?? this.#bindings.fresh(), of ?? this.#bindings.fresh());
  }

  #loop(node: Loop): Type {
    const item = this.#itemOf(node, this.#bindings.resolve(this.visit(node.range)));
    this.#scope = { name: node.variable, type: item, outer: this.#scope };
    if (node.condition) this.wants(node.condition, this.visit(node.condition), types.bool);
    const result = node.result && this.visit(node.result);
    this.#scope = this.#scope.outer;
    switch (node.macro) {
      case "filter":
      case "sortBy":
        return listOf(item);
      case "map":
        return listOf(result ?? types.dyn);
      default:
        return types.bool;
    }
  }

  #itemOf(node: Loop, range: Type): Type {
    switch (range.is) {
      case "list":
        return range.of;
      case "map":
        return range.key;
      case "object":
        return types.string;
      case "nullable":
        return this.#itemOf(node, range.of);
      case "dyn":
        return types.dyn;
      case "variable":
        this.#bindings.fit([range], [types.dyn]);
        return types.dyn;
      default:
        return this.#refuse(node.range.from, `${node.macro} needs a list or a map, but this is ${typePhrase(range)}`);
    }
  }
}

function asNullable(type: Type): Type {
  return type.is === "nullable" || type.is === "dyn" ? type : { is: "nullable", of: type };
}

function literalType(value: Parameters<typeof kindOf>[0]): Type {
  return { is: kindOf(value) } as Type;
}
