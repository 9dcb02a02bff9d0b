/** Parses a source into a tree, by precedence climbing over the grammar of CEL's specification. */
import { Builder, faultTooDeep } from "./builder.ts";
import type { Span } from "./builder.ts";
import type { CompileBudget } from "./compile-budget.ts";
import { issueAt } from "./issue.ts";
import type { Issue } from "./issue.ts";
import { defaultLimits } from "../values/cel-limits.ts";
import type { Limits } from "../values/cel-limits.ts";
import { hasCall, loopOf } from "./macros.ts";
import { SourceFault } from "./source-fault.ts";
import { numberValue, reserved, tokensOf } from "./lexer.ts";
import type { Token } from "./lexer.ts";
import type { Node, Tree } from "./tree.ts";

export type Parsed =
  | { readonly ok: true; readonly tree: Tree }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Number of UTF-16 code units parsed per step. */
const unitsPerStep = 4;

/** Never throws. Returns at most one issue, because everything after it would be unreliable. */
export function parseExpression(source: string, limits: Limits = defaultLimits, budget?: CompileBudget): Parsed {
  try {
    if (source.length > limits.sourceLength) {
      throw new SourceFault(
        0,
        `the expression has ${source.length} characters, at most ${limits.sourceLength} are read`,
      );
    }
    budget?.spend(1 + source.length / unitsPerStep);
    const builder = new Builder(limits);
    const root = new Parser(tokensOf(source), builder, limits).whole();
    return { ok: true, tree: { source, root, nodes: builder.nodes } };
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    return { ok: false, issues: [issueAt(source, error.offset, error.message, error.hint)] };
  }
}

/** Lowest precedence first. Operators of one row have equal precedence and associate to the left. */
const rows: readonly (readonly string[])[] = [
  ["==", "!=", "<", "<=", ">", ">=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

class Parser {
  readonly #tokens: readonly Token[];
  readonly #builder: Builder;
  readonly #limits: Limits;
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], builder: Builder, limits: Limits) {
    this.#tokens = tokens;
    this.#builder = builder;
    this.#limits = limits;
  }

  whole(): Node {
    const node = this.#expression();
    if (this.#token.kind !== "end") throw this.#unexpected("an operator or the end", hintAfter(this.#token));
    return node;
  }

  get #token(): Token {
    return this.#tokens[this.#next] as Token;
  }

  /** End of the last consumed token. */
  get #end(): number {
    return this.#tokens[this.#next - 1]?.to ?? 0;
  }

  #is(sign: string): boolean {
    const { kind, text } = this.#token;
    return text === sign && (kind === "sign" || (kind === "name" && sign === "in"));
  }

  #take(sign: string): Token | undefined {
    if (!this.#is(sign)) return undefined;
    const token = this.#token;
    this.#next += 1;
    return token;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected(`"${sign}"`);
  }

  #unexpected(wanted: string, hint?: string): SourceFault {
    const { kind, text, from } = this.#token;
    const found = kind === "end" ? "the expression ends" : `there is ${JSON.stringify(text.slice(0, 32))}`;
    return new SourceFault(from, `${wanted} must stand here, ${found}`, hint);
  }

  #expression(): Node {
    this.#depth += 1;
    if (this.#depth > this.#limits.depth) throw faultTooDeep(this.#token.from, this.#limits);
    const condition = this.#chain("||", () => this.#chain("&&", () => this.#binary(0)));
    const mark = this.#take("?");
    let node = condition;
    if (mark) {
      const then = this.#chain("||", () => this.#chain("&&", () => this.#binary(0)));
      this.#expect(":");
      node = this.#call("_?_:_", { at: mark.from, from: condition.from }, [condition, then, this.#expression()]);
    }
    this.#depth -= 1;
    return node;
  }

  #chain(operator: "&&" | "||", operand: () => Node): Node {
    const first = operand();
    if (!this.#is(operator)) return first;
    const operands = [first];
    const at = this.#token.from;
    while (this.#take(operator)) operands.push(operand());
    return this.#builder.node({ at, from: first.from, to: this.#end }, { kind: "logic", operator, operands });
  }

  #binary(row: number): Node {
    const operators = rows[row];
    if (!operators) return this.#unary();
    let left = this.#binary(row + 1);
    for (;;) {
      const found = operators.find((operator) => this.#is(operator));
      if (found === undefined) return left;
      const at = this.#token.from;
      this.#next += 1;
      const right = this.#binary(row + 1);
      left = this.#call(found === "in" ? "@in" : `_${found}_`, { at, from: left.from }, [left, right]);
    }
  }

  /** Two equal signs cancel each other. A single minus before a number belongs to the number. */
  #unary(): Node {
    const { from } = this.#token;
    const sign = this.#is("!") ? "!" : "-";
    let signs = 0;
    while (this.#take(sign)) signs += 1;
    if (signs === 0) return this.#member(false);
    const ownsMinus = signs === 1 && sign === "-" && this.#token.kind === "number";
    const operand = this.#member(ownsMinus);
    if (ownsMinus || signs % 2 === 0) return operand;
    return this.#call(`${sign}_`, { at: from, from }, [operand]);
  }

  #member(isNegative: boolean): Node {
    let node = this.#primary(isNegative);
    for (;;) {
      const at = this.#token.from;
      if (this.#take(".")) node = this.#afterDot(node);
      else if (this.#take("[")) {
        const index = this.#expression();
        this.#expect("]");
        node = this.#call("_[_]", { at, from: node.from }, [node, index]);
      } else if (this.#is("{") && node.kind !== "literal") {
        throw new SourceFault(at, "messages cannot be made", "a map is written {'key': value}");
      } else return node;
    }
  }

  #afterDot(operand: Node): Node {
    const { kind, text, from } = this.#token;
    if ((kind !== "name" && kind !== "field") || notFields.has(text)) throw this.#unexpected("the name of a field");
    this.#next += 1;
    if (kind === "name" && this.#take("(")) {
      const args = this.#list(")");
      const span: Span = { at: from, from: operand.from, to: this.#end };
      return (
        loopOf(this.#builder, span, text, operand, args) ??
        this.#builder.node(span, { kind: "call", name: text, target: operand, args })
      );
    }
    const span = { at: from, from: operand.from, to: this.#end };
    return this.#builder.node(span, { kind: "select", operand, field: text, isTest: false });
  }

  #primary(isNegative: boolean): Node {
    const token = this.#token;
    const { kind, text, from } = token;
    if (kind === "literal" || kind === "number") {
      this.#next += 1;
      // A minus was consumed before it.
      const start = isNegative ? (this.#tokens[this.#next - 2] as Token).from : from;
      const value = kind === "number" ? numberValue(token, isNegative) : (token.value ?? null);
      return this.#builder.node({ at: start, from: start, to: this.#end }, { kind: "literal", value });
    }
    if (this.#take("(")) {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (this.#take("[")) {
      const items = this.#list("]");
      return this.#builder.node({ at: from, from, to: this.#end }, { kind: "list", items });
    }
    if (this.#take("{")) return this.#map(from);
    const isRooted = this.#take(".") !== undefined;
    if (this.#token.kind !== "name" || this.#token.text === "in") throw this.#unexpected("a value", hintAfter(token));
    return this.#name(isRooted, isRooted ? this.#token.text : text, from);
  }

  #name(isRooted: boolean, name: string, from: number): Node {
    this.#next += 1;
    const span = { at: from, from, to: this.#end };
    if (!isRooted && Object.hasOwn(constants, name)) {
      return this.#builder.node(span, { kind: "literal", value: constants[name] as boolean | null });
    }
    if (reserved.has(name)) throw new SourceFault(from, `"${name}" is a reserved word`);
    if (!this.#take("(")) return this.#builder.node(span, { kind: "name", name, isRooted });
    const args = this.#list(")");
    const called = { at: from, from, to: this.#end };
    if (name === "has" && !isRooted) return hasCall(this.#builder, called, args);
    return this.#builder.node(called, {
      kind: "call",
      name: isRooted ? `.${name}` : name,
      target: undefined,
      args,
    });
  }

  /** Parses items up to `end`, which is consumed. A trailing comma is allowed. */
  #list(end: ")" | "]"): Node[] {
    const items: Node[] = [];
    while (!this.#take(end)) {
      items.push(this.#expression());
      if (this.#take(",")) {
        if (end === ")" && this.#is(end)) throw this.#unexpected("a value");
        continue;
      }
      this.#expect(end);
      break;
    }
    return items;
  }

  #map(from: number): Node {
    const entries: (readonly [Node, Node])[] = [];
    while (!this.#take("}")) {
      const key = this.#expression();
      this.#expect(":");
      entries.push([key, this.#expression()]);
      if (this.#take(",")) continue;
      this.#expect("}");
      break;
    }
    return this.#builder.node({ at: from, from, to: this.#end }, { kind: "map", entries });
  }

  #call(name: string, { at, from }: Pick<Span, "at" | "from">, args: readonly Node[]): Node {
    return this.#builder.node({ at, from, to: this.#end }, { kind: "call", name, target: undefined, args });
  }
}

const constants: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const notFields: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);

/** Constructs from other languages. */
function hintAfter({ kind, text }: Token): string | undefined {
  if (kind !== "name") return undefined;
  const meant: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!" };
  return Object.hasOwn(meant, text) ? `write \`${meant[text]}\` for "${text}"` : undefined;
}
