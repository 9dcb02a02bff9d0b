/** Makes closures of a checked tree, once: an evaluation calls them and never looks at the tree. */
import { adapterOf, zeroOf } from "./adapt.ts";
import { callEvaluation } from "./calls.ts";
import type { CheckedTree, ResolvedCall } from "../checking/checked.ts";
import type { Environment, Variable } from "../checking/environment.ts";
import { Failure } from "../values/failure.ts";
import { hasField, keyIn, keyOf, selectField, selectKey } from "./fields.ts";
import { readableName } from "../checking/hints.ts";
import { loopEvaluation } from "./loops.ts";
import { canBeKey, Dictionary } from "../values/map.ts";
import { constantPart, failureAt } from "./part.ts";
import type { Evaluate, Part } from "./part.ts";
import { Run } from "../values/run.ts";
import type { Result } from "../values/run.ts";
import { childrenOf } from "../syntax/tree.ts";
import type { Call, Entries, List, Logic, Loop, Name, Node, Select } from "../syntax/tree.ts";
import { types } from "../checking/types.ts";
import type { Type } from "../checking/types.ts";
import { kindOf } from "../values/values.ts";
import type { Value } from "../values/values.ts";

/** Is shown each part's value when it is known; an evaluation that nobody watches has no such calls in it. */
export type Watch = (node: Node, value: Result, run: Run) => void;

export function compileTree(checked: CheckedTree, environment: Environment, watch?: Watch): Evaluate {
  return new Compiler(checked, environment, watch).part(checked.tree.root).evaluate;
}

/** Steps of a part: one for each call in it. Of a loop only the range: what is inside is counted each time. */
export function stepsOf(node: Node): number {
  if (node.kind === "loop") return 1 + stepsOf(node.range);
  return childrenOf(node).reduce((sum, child) => sum + stepsOf(child), node.kind === "call" ? 1 : 0);
}

class Compiler {
  readonly #checked: CheckedTree;
  readonly #environment: Environment;
  readonly #watch: Watch | undefined;
  /** Loop variables in scope; where one stands is its place among the run's locals. */
  readonly #scope: string[] = [];

  constructor(checked: CheckedTree, environment: Environment, watch: Watch | undefined) {
    this.#checked = checked;
    this.#environment = environment;
    this.#watch = watch;
  }

  part(node: Node): Part {
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

  #partOf(node: Node, type: Type): Part {
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

  #name(node: Name, type: Type): Part {
    const variable = this.#checked.variables.get(node.id);
    if (variable) return variablePart(variable, type, node.at);
    const place = node.isRooted ? -1 : this.#scope.lastIndexOf(node.name);
    if (place === -1) return failing(`there is no "${readableName(node.name)}"`, node.at);
    return { evaluate: (run) => (run.locals as Value[])[place] as Value, type, constant: undefined };
  }

  #select(node: Select, type: Type): Part {
    const variable = this.#checked.variables.get(node.id);
    if (variable) {
      const { read } = variable;
      if (!node.isTest) return variablePart(variable, type, node.at);
      return { evaluate: read ? (run) => read(run.activation) !== undefined : () => true, type, constant: undefined };
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

  #call(node: Call, type: Type): Part {
    const resolved = this.#checked.calls.get(node.id);
    if (!resolved) {
      const field = this.#objectField(node, type);
      return field ?? failing(`there is no function "${readableName(node.name)}" for these arguments`, node.at);
    }
    const children = node.target && !resolved.isQualified ? [node.target, ...node.args] : node.args;
    const parts = children.map((child) => this.part(child));
    const evaluate = callEvaluation(resolved, parts, node.at, this.#environment);
    return this.#folded(resolved, parts, evaluate, type);
  }

  /** `object['field']` has no function behind it. */
  #objectField(node: Call, type: Type): Part | undefined {
    const [operand, key] = node.args;
    const isField = node.name === "_[_]" && key?.kind === "literal" && typeof key.value === "string";
    if (!isField || operand === undefined) return undefined;
    // As `#select` it is found among the variables, if it is one.
    return this.#select({ ...node, kind: "select", operand, field: key.value as string, isTest: false }, type);
  }

  /** What depends on nothing is evaluated now. */
  #folded({ overloads }: ResolvedCall, parts: readonly Part[], evaluate: Evaluate, type: Type): Part {
    const isConstant =
      parts.every(({ constant }) => constant !== undefined) && !overloads.some(({ isVolatile }) => isVolatile === true);
    if (!isConstant) return { evaluate, type, constant: undefined };
    const value = this.#now(evaluate);
    return value instanceof Failure ? { evaluate, type, constant: undefined } : constantPart(value, type);
  }

  #now(evaluate: Evaluate): Result {
    const run = new Run(this.#environment.limits);
    run.steps = this.#environment.limits.steps;
    try {
      return evaluate(run);
    } catch {
      // It is evaluated again when it is come to, and says there what it cannot do.
      return new Failure("the evaluation broke off");
    }
  }

  #logic({ operator, operands, at }: Logic): Evaluate {
    const parts = operands.map((operand) => this.part(operand).evaluate);
    const decides = operator === "||";
    const { quietNulls } = this.#environment;
    /** A failure counts only when no other operand decides. */
    const goOn = (run: Run, from: number, before: Result): Result => {
      let value = before;
      let failure: Failure | undefined;
      for (let place = from; ; place += 1) {
        if (value === decides || (!decides && quietNulls && value === null)) return decides;
        if (typeof value !== "boolean" && !(quietNulls && value === null)) {
          if (value instanceof Failure && value.isFinal) return value;
          failure ??= value instanceof Failure ? value : noBool(value, operator, at);
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

  #list(node: List, type: Type): Part {
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
        if (value instanceof Failure) return value;
        list.push(value);
      }
      return list;
    };
    return { evaluate, type, constant: undefined };
  }

  #map(node: Entries, type: Type): Part {
    const parts = node.entries.map(([key, value]) => [this.part(key), this.part(value)] as const);
    const { from } = node;
    const evaluate: Evaluate = (run) => {
      const map = new Dictionary();
      for (const [keyPart, valuePart] of parts) {
        const key = keyPart.evaluate(run);
        if (key instanceof Failure) return key;
        const value = valuePart.evaluate(run);
        if (value instanceof Failure) return value;
        if (!canBeKey(key)) return failureAt(`a value of type ${kindOf(key)} cannot be a key`, from);
        if (!map.add(key, value)) return failureAt("a map has a key twice", from);
      }
      return map;
    };
    if (!parts.flat().every(({ constant }) => constant !== undefined)) return { evaluate, type, constant: undefined };
    const value = this.#now(evaluate);
    return value instanceof Failure ? { evaluate, type, constant: undefined } : constantPart(value, type);
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
      if (typeof value === "object" && value instanceof Failure && value.offset < 0) value.offset = node.at;
      return value;
    };
  }
}

/** Fails wherever it is come to. Only trees that were checked loosely have such parts. */
function failing(message: string, at: number): Part {
  return { evaluate: () => failureAt(message, at), type: types.dyn, constant: undefined };
}

function variablePart({ name, read, item, value, type: declared }: Variable, type: Type, at: number): Part {
  if (!read) return constantPart(value as Value, type);
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
    const evaluate: Evaluate = ({ activation }) => {
      const found = read(activation);
      return found === undefined ? zero : adapt(found);
    };
    return { evaluate, type, constant: undefined };
  }
  const evaluate: Evaluate = ({ activation }) => {
    const found = read(activation);
    return found === undefined ? zero : found;
  };
  return { evaluate, type, constant: undefined, reading: { read, zero, item } };
}

/** `variable.key`, or `has` of it, where a variable reads one key by itself. */
function keySelected(operand: Part, { field, isTest, at }: Select): Evaluate | undefined {
  if (!operand.reading?.item) return undefined;
  const key = constantPart(field, types.string);
  return isTest ? keyIn(operand, key) : keyOf(operand, key, at);
}

function objectIn(type: Type): (Type & { is: "object" }) | undefined {
  if (type.is === "nullable") return objectIn(type.of);
  return type.is === "object" ? type : undefined;
}

function noBool(value: Value, operator: string, at: number): Failure {
  return failureAt(`${operator} joins conditions, one of them is of type ${kindOf(value)}`, at);
}
