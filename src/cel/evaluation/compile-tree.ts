/** Compiles a checked tree to closures, once. Evaluations call them and never use the tree. */
import { adaptValue, adapterOf, zeroOf } from "./adapt.ts";
import { callEvaluation } from "./call-evaluation.ts";
import type { CheckedTree, ResolvedCall } from "../checking/checked.ts";
import type { Environment, Variable } from "../checking/environment.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { hasField, keyIn, keyOf, selectField, selectKey, spendKey } from "./field-access.ts";
import { shortenName } from "../checking/hints.ts";
import { loopEvaluation } from "./loops.ts";
import { canBeKey, Dictionary } from "../values/map.ts";
import { constantPart, failureAt } from "./part.ts";
import type { Evaluate, CompiledPart } from "./part.ts";
import { failOutOfSteps, Run } from "../values/budget.ts";
import type { Result } from "../values/budget.ts";
import type { CompileBudget } from "../syntax/compile-budget.ts";
import { childrenOf } from "../syntax/tree.ts";
import type { CallNode, Entries, ListNode, Logic, Loop, Name, Node, Select } from "../syntax/tree.ts";
import { types } from "../checking/cel-types.ts";
import type { Type } from "../checking/cel-types.ts";
import { kindOf } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

/** Receives each part's value. Without a watch, the closures contain no such calls. */
export type Watch = (node: Node, value: Result, run: Run) => void;

/** @param budget pays for constant parts, which are evaluated at compile time */
export function compileTree(
  checked: CheckedTree,
  environment: Environment,
  budget: CompileBudget,
  watch?: Watch,
): Evaluate {
  return new Compiler(checked, environment, budget, watch).part(checked.tree.root).evaluate;
}

/** Number of parts, other than calls and map entries, that take as long as one call. */
const partsPerStep = 16;

/** Steps of a part. For a loop only the range, because the body is counted per iteration. */
export function stepsOf(node: Node): number {
  const { calls, others } = countOf(node);
  return calls + Math.floor(others / partsPerStep);
}

function countOf(node: Node): { readonly calls: number; readonly others: number } {
  let calls = node.kind === "call" || node.kind === "loop" ? 1 : node.kind === "map" ? node.entries.length : 0;
  let others = 1 - Math.min(calls, 1);
  for (const child of node.kind === "loop" ? [node.range] : childrenOf(node)) {
    const inside = countOf(child);
    calls += inside.calls;
    others += inside.others;
  }
  return { calls, others };
}

class Compiler {
  readonly #checked: CheckedTree;
  readonly #environment: Environment;
  readonly #budget: CompileBudget;
  readonly #watch: Watch | undefined;
  /** Loop variables in scope. The position is the index among the run's locals. */
  readonly #scope: string[] = [];

  constructor(checked: CheckedTree, environment: Environment, budget: CompileBudget, watch: Watch | undefined) {
    this.#checked = checked;
    this.#environment = environment;
    this.#budget = budget;
    this.#watch = watch;
  }

  part(node: Node): CompiledPart {
    const type = this.#checked.types[node.id] ?? types.dyn;
    const part = this.#partOf(node, type);
    const watch = this.#watch;
    if (!watch || node.kind === "literal") return part;
    const { evaluate, constant } = part;
    const watched: Evaluate = (run) => {
      const value = evaluate(run);
      watch(node, value, run);
      return value;
    };
    return { evaluate: watched, type, constant };
  }

  #partOf(node: Node, type: Type): CompiledPart {
    switch (node.kind) {
      case "literal":
        return constantPart(node.value, type);
      case "name":
        return this.#name(node, type);
      case "select":
        return this.#select(node, type);
      case "call":
        return this.#call(node, type);
      case "logic":
        return { evaluate: this.#logic(node), type, constant: undefined };
      case "list":
        return this.#list(node, type);
      case "map":
        return this.#map(node, type);
      case "loop":
        return { evaluate: this.#loop(node), type, constant: undefined };
    }
  }

  #name(node: Name, type: Type): CompiledPart {
    const variable = this.#checked.variables.get(node.id);
    if (variable) return variablePart(variable, type, node.at);
    const place = node.isRooted ? -1 : this.#scope.lastIndexOf(node.name);
    if (place === -1) return failPart(`there is no "${shortenName(node.name)}"`, node.at);
    return { evaluate: (run) => (run.locals as Value[])[place] as Value, type, constant: undefined };
  }

  #select(node: Select, type: Type): CompiledPart {
    const variable = this.#checked.variables.get(node.id);
    if (variable) {
      const { read, cost } = variable;
      if (!node.isTest) return variablePart(variable, type, node.at);
      const isThere: Evaluate = read ? (run) => read(run.activation) !== undefined : () => true;
      const evaluate: Evaluate = cost ? (run) => run.spend(cost(run.activation)) ?? isThere(run) : isThere;
      return { evaluate, type, constant: undefined };
    }
    const operand = this.part(node.operand);
    const object = objectIn(operand.type);
    const keyed = this.#environment.quietNulls ? undefined : keySelected(operand, node);
    if (keyed) return { evaluate: keyed, type, constant: undefined };
    const { quietNulls } = this.#environment;
    const { field, at } = node;
    if (node.isTest) {
      const evaluate = hasField(operand.evaluate, field, object !== undefined, at, quietNulls);
      return { evaluate, type, constant: undefined };
    }
    const evaluate = object
      ? selectField(operand.evaluate, field, object.fields.get(field) ?? types.dyn, at, quietNulls)
      : selectKey(operand.evaluate, field, at, quietNulls);
    return { evaluate, type, constant: undefined };
  }

  #call(node: CallNode, type: Type): CompiledPart {
    const resolved = this.#checked.calls.get(node.id);
    if (!resolved) {
      const field = this.#objectField(node, type);
      return field ?? failPart(`there is no function "${shortenName(node.name)}" for these arguments`, node.at);
    }
    const children = node.target && !resolved.isQualified ? [node.target, ...node.args] : node.args;
    const parts = children.map((child) => this.part(child));
    const evaluate = callEvaluation(resolved, parts, node.at, this.#environment);
    return this.#folded(resolved, parts, evaluate, type);
  }

  /** `object['field']` calls no function. */
  #objectField(node: CallNode, type: Type): CompiledPart | undefined {
    const [operand, key] = node.args;
    const isField = node.name === "_[_]" && key?.kind === "literal" && typeof key.value === "string";
    if (!isField || operand === undefined) return undefined;
    // Like `#select`, this finds the variable if the path names one.
    return this.#select({ ...node, kind: "select", operand, field: key.value as string, isTest: false }, type);
  }

  /** A part without variables is evaluated now. */
  #folded({ overloads }: ResolvedCall, parts: readonly CompiledPart[], evaluate: Evaluate, type: Type): CompiledPart {
    const isConstant =
      parts.every(({ constant }) => constant !== undefined) && !overloads.some(({ isVolatile }) => isVolatile === true);
    if (!isConstant) return { evaluate, type, constant: undefined };
    const value = this.#now(evaluate);
    return value instanceof CelFailure ? { evaluate, type, constant: undefined } : constantPart(value, type);
  }

  #now(evaluate: Evaluate): Result {
    const { limits } = this.#environment;
    const steps = Math.min(limits.steps, this.#budget.steps);
    const run = new Run(limits);
    // The step of the call itself.
    run.steps = steps - 1;
    try {
      return run.steps < 0 ? failOutOfSteps() : evaluate(run);
    } catch {
      // Evaluation on traffic computes this part again, and fails there.
      return new CelFailure("the evaluation broke off");
    } finally {
      this.#budget.steps -= steps - Math.max(run.steps, 0);
    }
  }

  #logic({ operator, operands, at }: Logic): Evaluate {
    const parts = operands.map((operand) => this.part(operand).evaluate);
    const decides = operator === "||";
    const { quietNulls } = this.#environment;
    /** A failure counts only if no other operand decides. */
    const goOn = (run: Run, from: number, before: Result): Result => {
      let value = before;
      let failure: CelFailure | undefined;
      for (let place = from; ; place += 1) {
        if (value === decides || (!decides && quietNulls && value === null)) return decides;
        if (typeof value !== "boolean" && !(quietNulls && value === null)) {
          if (value instanceof CelFailure && value.isFinal) return value;
          failure ??= value instanceof CelFailure ? value : failNoBool(value, operator, at);
        }
        const next = parts[place];
        if (!next) return failure ?? !decides;
        value = next(run);
      }
    };
    const [left, right] = parts as [Evaluate, Evaluate];
    if (parts.length > 2) {
      return (run) => {
        for (let place = 0; place < parts.length; place += 1) {
          const value = (parts[place] as Evaluate)(run);
          if (value === decides) return decides;
          if (value !== !decides) return goOn(run, place + 1, value);
        }
        return !decides;
      };
    }
    return (run) => {
      const one = left(run);
      if (one === decides) return decides;
      if (one !== !decides) return goOn(run, 1, one);
      const other = right(run);
      return typeof other === "boolean" ? other : goOn(run, 2, other);
    };
  }

  #list(node: ListNode, type: Type): CompiledPart {
    const parts = node.items.map((item) => this.part(item));
    if (parts.every(({ constant }) => constant !== undefined)) {
      return constantPart(
        parts.map(({ constant }) => constant as Value),
        type,
      );
    }
    const items = parts.map(({ evaluate }) => evaluate);
    const evaluate: Evaluate = (run) => {
      const list: Value[] = [];
      for (const item of items) {
        const value = item(run);
        if (value instanceof CelFailure) return value;
        list.push(value);
      }
      return list;
    };
    return { evaluate, type, constant: undefined };
  }

  #map(node: Entries, type: Type): CompiledPart {
    const parts = node.entries.map(([key, value]) => [this.part(key), this.part(value)] as const);
    const { from } = node;
    const evaluate: Evaluate = (run) => {
      const map = new Dictionary();
      for (const [keyPart, valuePart] of parts) {
        const key = keyPart.evaluate(run);
        if (key instanceof CelFailure) return key;
        const value = valuePart.evaluate(run);
        if (value instanceof CelFailure) return value;
        const spent = spendKey(key, run);
        if (spent) return spent;
        if (!canBeKey(key)) return failureAt(`a value of type ${kindOf(key)} cannot be a key`, from);
        if (!map.add(key, value)) return failureAt("a map has a key twice", from);
      }
      return map;
    };
    if (!parts.flat().every(({ constant }) => constant !== undefined)) return { evaluate, type, constant: undefined };
    const value = this.#now(evaluate);
    return value instanceof CelFailure ? { evaluate, type, constant: undefined } : constantPart(value, type);
  }

  #loop(node: Loop): Evaluate {
    const range = this.part(node.range).evaluate;
    const place = this.#scope.push(node.variable) - 1;
    const inside = [node.condition, node.result].filter((part) => part !== undefined);
    const cost = inside.reduce((sum, part) => sum + stepsOf(part), 1);
    const condition = node.condition && this.part(node.condition).evaluate;
    const result = node.result && this.part(node.result).evaluate;
    this.#scope.pop();
    const { quietNulls } = this.#environment;
    const evaluate = loopEvaluation({ macro: node.macro, range, place, cost, condition, result, quietNulls });
    return (run) => {
      const value = evaluate(run);
      if (typeof value === "object" && value instanceof CelFailure && value.offset < 0) value.offset = node.at;
      return value;
    };
  }
}

/** Fails when it is reached. Only loosely checked trees have such parts. */
function failPart(message: string, at: number): CompiledPart {
  return { evaluate: () => failureAt(message, at), type: types.dyn, constant: undefined };
}

function variablePart(variable: Variable, type: Type, at: number): CompiledPart {
  const { read, cost } = variable;
  if (!read) return constantPart(variable.value as Value, type);
  const part = readPart(variable, read, type, at);
  if (!cost) return part;
  const { evaluate, reading } = part;
  const paid: Evaluate = (run) => run.spend(cost(run.activation)) ?? evaluate(run);
  // Only a single key is read without charge, and the item pays for it.
  return { evaluate: paid, type, constant: undefined, reading: reading?.item && { ...reading, cost } };
}

function readPart(
  { name, item, type: declared }: Variable,
  read: NonNullable<Variable["read"]>,
  type: Type,
  at: number,
): CompiledPart {
  const zero = zeroOf(declared);
  if (zero === undefined) {
    const evaluate: Evaluate = ({ activation }) => {
      const found = read(activation);
      return found === undefined ? failureAt(`"${name}" is not known here`, at) : found;
    };
    return { evaluate, type, constant: undefined };
  }
  const adapt = adapterOf(declared);
  if (adapt) {
    const evaluate: Evaluate = (run) => {
      const found = read(run.activation);
      return found === undefined ? zero : adaptValue(adapt, found, run);
    };
    return { evaluate, type, constant: undefined };
  }
  const evaluate: Evaluate = ({ activation }) => {
    const found = read(activation);
    return found === undefined ? zero : found;
  };
  return { evaluate, type, constant: undefined, reading: { read, zero, item, cost: undefined } };
}

/** Compiles `variable.key`, or `has` of it, if the variable can read a single key. */
function keySelected(operand: CompiledPart, { field, isTest, at }: Select): Evaluate | undefined {
  if (!operand.reading?.item) return undefined;
  const key = constantPart(field, types.string);
  return isTest ? keyIn(operand, key) : keyOf(operand, key, at);
}

function objectIn(type: Type): (Type & { is: "object" }) | undefined {
  if (type.is === "nullable") return objectIn(type.of);
  return type.is === "object" ? type : undefined;
}

function failNoBool(value: Value, operator: string, at: number): CelFailure {
  return failureAt(`${operator} joins conditions, one of them is of type ${kindOf(value)}`, at);
}
