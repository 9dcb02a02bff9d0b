/** Prints our tree in the form of cel-go (`ToDebugString`), with macros and chains expanded as in cel-go. */
import type { CheckedTree } from "../../src/cel/checking/checked.ts";
import type { Loop, Node } from "../../src/cel/syntax/tree.ts";
import { typeText } from "../../src/cel/checking/cel-types.ts";
import type { Type } from "../../src/cel/checking/cel-types.ts";
import { escapes } from "../../src/cel/functions/strings.ts";
import { kindOf, Uint } from "../../src/cel/values/cel-values.ts";
import type { Value } from "../../src/cel/values/cel-values.ts";

/** A node of cel-go's output: text with its children, and its annotation. */
type Spread =
  | { readonly text: string; readonly note: string }
  | { readonly call: string; readonly target?: Spread; readonly args: readonly Spread[]; readonly note: string }
  | { readonly select: string; readonly operand: Spread; readonly note: string }
  | { readonly list: readonly Spread[]; readonly note: string }
  | { readonly entries: readonly (readonly [Spread, Spread])[]; readonly entryNote: string; readonly note: string }
  | { readonly loop: readonly (readonly [string, Spread | string])[]; readonly note: string };

/** Prints each part with its kind, without types. */
export function printKinds(root: Node): string {
  return print(new Spreader(undefined).node(root), 0);
}

/** Prints the tree with the checker's types and overloads. */
export function printTypes(checked: CheckedTree, { withMixed } = { withMixed: true }): string {
  return print(new Spreader(checked, withMixed).node(checked.tree.root), 0);
}

class Spreader {
  readonly #checked: CheckedTree | undefined;
  readonly #withMixed: boolean;

  constructor(checked: CheckedTree | undefined, withMixed = true) {
    this.#checked = checked;
    this.#withMixed = withMixed;
  }

  node(node: Node): Spread {
    switch (node.kind) {
      case "literal":
        return { text: literalText(node.value), note: this.#constant(node.value) };
      case "name": {
        const variable = this.#checked?.variables.get(node.id);
        const text = variable?.name ?? (node.isRooted ? `.${node.name}` : node.name);
        return { text, note: this.#note("Ident", this.#type(node), variable?.name ?? node.name) };
      }
      case "select": {
        const variable = this.#checked?.variables.get(node.id);
        if (variable && !node.isTest) {
          return { text: variable.name, note: this.#note("Ident", this.#type(node), variable.name) };
        }
        const select = node.isTest ? `${node.field}~test-only~` : node.field;
        return { select, operand: this.node(node.operand), note: this.#note("Select", this.#type(node)) };
      }
      case "call": {
        const resolved = this.#checked?.calls.get(node.id);
        const listed = resolved?.overloads.filter(({ mixesNumbers }) => this.#withMixed || mixesNumbers !== true);
        const ids = listed
          ?.map(({ id }) => id)
          .sort()
          .join("|");
        const target = node.target && !resolved?.isQualified ? { target: this.node(node.target) } : {};
        const call = resolved?.name ?? node.name;
        const args = node.args.map((arg) => this.node(arg));
        return { call, ...target, args, note: this.#note("Call", this.#type(node), ids) };
      }
      case "logic":
        return this.#balanced(
          node.operator,
          node.operands.map((operand) => this.node(operand)),
        );
      case "list":
        return { list: node.items.map((item) => this.node(item)), note: this.#note("List", this.#type(node)) };
      case "map": {
        const entries = node.entries.map(([key, value]) => [this.node(key), this.node(value)] as const);
        const entryNote = this.#checked ? "" : "^#*expr.Expr_CreateStruct_Entry#";
        return { entries, entryNote, note: this.#note("Struct", this.#type(node)) };
      }
      case "loop":
        return this.#loop(node);
    }
  }

  #type(node: Node): string {
    return typeText(this.#checked?.types[node.id] ?? { is: "dyn" });
  }

  #note(kind: string, type: string, reference?: string): string {
    if (!this.#checked) return `^#*expr.Expr_${kind}Expr#`;
    return `~${type}${reference === undefined ? "" : `^${reference}`}`;
  }

  #constant(value: Value): string {
    const kind = kindOf(value);
    if (this.#checked) return `~${kind}`;
    const names: Readonly<Record<string, string>> = { int: "Int64", uint: "Uint64" };
    return `^#*expr.Constant_${names[kind] ?? `${kind[0]?.toUpperCase()}${kind.slice(1)}`}Value#`;
  }

  #call(call: string, type: string, id: string, ...args: readonly Spread[]): Spread {
    return { call, args, note: this.#note("Call", type, id) };
  }

  #balanced(operator: "&&" | "||", terms: readonly Spread[]): Spread {
    if (terms.length === 1) return terms[0] as Spread;
    // Like cel-go, splits long chains so that the tree is not deep.
    const middle = Math.floor((terms.length - 1) / 2) + 1;
    const halves = [terms.slice(0, middle), terms.slice(middle)].map((half) => this.#balanced(operator, half));
    return this.#call(`_${operator}_`, "bool", operator === "&&" ? "logical_and" : "logical_or", ...halves);
  }

  #loop(node: Loop): Spread {
    const item = this.#itemType(node.range);
    const condition = node.condition && this.node(node.condition);
    const bool = (value: boolean): Spread => ({ text: String(value), note: this.#constant(value) });
    const number = (value: bigint): Spread => ({ text: String(value), note: this.#constant(value) });
    const result = (type: string): Spread => ({ text: "@result", note: this.#note("Ident", type, "@result") });
    const type = this.#type(node);
    const spread = (start: Spread, go: Spread, step: Spread, end: Spread): Spread => ({
      loop: [
        ["Variable", node.variable],
        ["Target", this.node(node.range)],
        ["Accumulator", "@result"],
        ["Init", start],
        ["LoopCondition", go],
        ["LoopStep", step],
        ["Result", end],
      ],
      note: this.#note("Comprehension", type),
    });
    const notFalse = (of: Spread): Spread => this.#call("@not_strictly_false", "bool", "not_strictly_false", of);
    const choose = (when: Spread, then: Spread, kind: string): Spread =>
      this.#call("_?_:_", kind, "conditional", when, then, result(kind));
    switch (node.macro) {
      case "all": {
        const step = this.#call("_&&_", "bool", "logical_and", result("bool"), condition as Spread);
        return spread(bool(true), notFalse(result("bool")), step, result("bool"));
      }
      case "exists": {
        const go = notFalse(this.#call("!_", "bool", "logical_not", result("bool")));
        const step = this.#call("_||_", "bool", "logical_or", result("bool"), condition as Spread);
        return spread(bool(false), go, step, result("bool"));
      }
      case "exists_one": {
        const next = this.#call("_+_", "int", "add_int64", result("int"), number(1n));
        const end = this.#call("_==_", "bool", "equals", result("int"), number(1n));
        return spread(number(0n), bool(true), choose(condition as Spread, next, "int"), end);
      }
      default: {
        const added = node.result
          ? this.node(node.result)
          : { text: node.variable, note: this.#note("Ident", item, node.variable) };
        const one: Spread = { list: [added], note: this.#note("List", type) };
        const next = this.#call("_+_", type, "add_list", result(type), one);
        const step = condition ? choose(condition, next, type) : next;
        return spread({ list: [], note: this.#note("List", type) }, bool(true), step, result(type));
      }
    }
  }

  #itemType(range: Node): string {
    const type: Type = this.#checked?.types[range.id] ?? { is: "dyn" };
    return typeText(type.is === "list" ? type.of : type.is === "map" ? type.key : { is: "dyn" });
  }
}

function print(node: Spread, indent: number): string {
  const inner = "  ".repeat(indent + 1);
  const outer = "  ".repeat(indent);
  const lines = (parts: readonly string[]): string =>
    parts.length === 0 ? "" : `\n${parts.map((part) => `${inner}${part}`).join(",\n")}\n${outer}`;
  if ("text" in node) return `${node.text}${node.note}`;
  if ("select" in node) return `${print(node.operand, indent)}.${node.select}${node.note}`;
  if ("list" in node) return `[${lines(node.list.map((item) => print(item, indent + 1)))}]${node.note}`;
  if ("entries" in node) {
    const entries = node.entries.map(
      ([key, value]) => `${print(key, indent + 1)}:${print(value, indent + 1)}${node.entryNote}`,
    );
    return `{${lines(entries)}}${node.note}`;
  }
  if ("call" in node) {
    const target = node.target ? `${print(node.target, indent)}.` : "";
    return `${target}${node.call}(${lines(node.args.map((arg) => print(arg, indent + 1)))})${node.note}`;
  }
  const parts = node.loop.map(
    ([label, part]) => `${inner}// ${label}\n${inner}${typeof part === "string" ? part : print(part, indent + 1)}`,
  );
  return `__comprehension__(\n${parts.join(",\n")})${node.note}`;
}

function literalText(value: Value): string {
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `b${quoted(Buffer.from(value).toString("latin1"), value)}`;
  if (typeof value === "number") return doubleText(value);
  return typeof value === "string" ? quoted(value) : String(value as bigint | boolean | null);
}

/** Formats a number like Go's `%v`. */
function doubleText(value: number): string {
  if (Object.is(value, -0)) return "-0";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return size >= 1e6 ? value.toExponential().replace(/e\+(\d)$/, "e+0$1") : String(value);
}

/** Formats a text. Of bytes, only printable UTF-8 remains. */
function quoted(text: string, bytes?: Uint8Array): string {
  const readable = bytes ? Buffer.from(bytes).toString("utf8") : text;
  if (bytes && Buffer.compare(Buffer.from(readable, "utf8"), bytes) !== 0) {
    return `"${Array.from(bytes, (byte) => (byte < 0x80 ? escaped(String.fromCharCode(byte), true) : `\\x${byte.toString(16)}`)).join("")}"`;
  }
  return `"${Array.from(readable, (sign) => escaped(sign, false)).join("")}"`;
}

function escaped(sign: string, isRaw: boolean): string {
  if (escapes[sign] !== undefined) return escapes[sign];
  const code = sign.codePointAt(0) as number;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (/[\p{L}\p{N}\p{S}\p{P}\p{M} ]/u.test(sign)) return sign;
  if (isRaw) return `\\x${code.toString(16)}`;
  return code > 0xff_ff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
