/** Interpolation: texts with `${expression}` in them. */
import { compileSource } from "../../cel/program.ts";
import type { Program } from "../../cel/program.ts";
import type { Environment } from "../../cel/checking/environment.ts";
import type { CheckOptions } from "../../cel/checking/check-tree.ts";
import type { CompileBudget } from "../../cel/syntax/compile-budget.ts";
import { endOfExpression } from "../../cel/syntax/lexer.ts";
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { issueAt } from "../../cel/syntax/issue.ts";
import type { Issue } from "../../cel/syntax/issue.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { failTooLong } from "../../cel/values/budget.ts";
import type { Result } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { PolicyContext } from "./policy-context.ts";
import { textOf } from "./text-of.ts";

/** Literal text of the policy, or the result of an expression. */
export type Piece = string | { readonly value: string };

export interface Template {
  readonly source: string;
  /** The text, if it contains no expression. */
  readonly constant: string | undefined;
  /** The policy's literal text before the first expression. */
  readonly startsWith: string;
  /** Names of its variables. */
  readonly variables: readonly string[];
  /** Names of its functions whose value may change with each call. */
  readonly volatile: readonly string[];
  /**
   * Returns the text with its expressions' values. Returns a failure if an expression fails, or if the text is too
   * long.
   */
  text(context: PolicyContext): string | CelFailure;
  /** Returns the text in pieces, which distinguish values from the policy's literal text. */
  pieces(context: PolicyContext): readonly Piece[] | CelFailure;
  /** Same as `text`, but a text of exactly one `${…}` keeps the type of its value. */
  value(context: PolicyContext): Result;
}

/**
 * @param wrong called with each error
 * @param read called with each expression, and the number of UTF-16 code units before it
 * @param budget pays for compiling. Default: a separate budget for each expression
 */
export function compileTemplate(
  source: string,
  environment: Environment,
  wrong: (issue: Issue) => void,
  read: (checked: CheckedTree, offset: number) => void = () => {},
  budget?: CompileBudget,
): Template {
  const volatile: string[] = [];
  const options = budget ? { budget } : {};
  const noted = (checked: CheckedTree, offset: number): void => {
    for (const { name, overloads } of checked.calls.values()) {
      if (overloads.some(({ isVolatile }) => isVolatile === true)) volatile.push(name);
    }
    read(checked, offset);
  };
  const parts = partsOf(source, environment, options, wrong, noted);
  const [first] = parts;
  if (parts.length === 0) return makeConstant(source, "");
  if (parts.length === 1 && typeof first === "string") return makeConstant(source, first);
  const only = parts.length === 1 ? (first as Program) : undefined;
  const text = (context: PolicyContext): string | CelFailure => {
    let whole = "";
    for (const part of parts) {
      const piece = typeof part === "string" ? part : valueText(part, context);
      if (piece instanceof CelFailure) return piece;
      if (whole.length + piece.length > context.limits.textLength) return failTooLong(context.limits);
      whole += piece;
    }
    return whole;
  };
  const pieces = (context: PolicyContext): readonly Piece[] | CelFailure => {
    const found: Piece[] = [];
    let length = 0;
    for (const part of parts) {
      const piece = typeof part === "string" ? part : valueText(part, context);
      if (piece instanceof CelFailure) return piece;
      length += piece.length;
      if (length > context.limits.textLength) return failTooLong(context.limits);
      found.push(typeof part === "string" ? piece : { value: piece });
    }
    return found;
  };
  return {
    source,
    constant: undefined,
    variables: parts.flatMap((part) => (typeof part === "string" ? [] : part.variables)),
    volatile,
    startsWith: typeof first === "string" ? first : "",
    text,
    pieces,
    value: only ? (context) => only.evaluate(context, context) : text,
  };
}

function valueText(program: Program, context: PolicyContext): string | CelFailure {
  const value = program.evaluate(context, context);
  if (value instanceof CelFailure) return value;
  const text = textOf(value, context);
  return text instanceof CelFailure ? text : (context.spendText(text.length) ?? text);
}

function makeConstant(source: string, text: string): Template {
  const given = { source, constant: text, startsWith: text, variables: [], volatile: [] };
  return { ...given, text: () => text, pieces: () => [text], value: (): Value => text };
}

/** `$${` is a literal `${`; any other `$` is literal. */
function partsOf(
  source: string,
  environment: Environment,
  options: CheckOptions,
  wrong: (issue: Issue) => void,
  read: (checked: CheckedTree, offset: number) => void,
): readonly (string | Program)[] {
  const parts: (string | Program)[] = [];
  let literal = "";
  let at = 0;
  for (;;) {
    const start = source.indexOf("${", at);
    if (start < 0) break;
    if (source[start - 1] === "$" && start > at) {
      literal += `${source.slice(at, start - 1)}\${`;
      at = start + 2;
      continue;
    }
    const end = endOfExpression(source, start + 2);
    if (end === undefined) {
      wrong(issueAt(source, start, "the `${` is not closed by a `}`", "write `$${` for a literal `${`"));
      return parts;
    }
    literal += source.slice(at, start);
    if (literal !== "") parts.push(literal);
    literal = "";
    const compiled = compileSource(source.slice(start + 2, end), environment, options);
    if (compiled.ok) {
      read(compiled.checked, start + 2);
      parts.push(compiled.program);
    } else {
      for (const issue of compiled.issues) {
        wrong(issueAt(source, start + 2 + issue.offset, issue.message, issue.hint));
      }
    }
    at = end + 1;
  }
  literal += source.slice(at);
  if (literal !== "") parts.push(literal);
  return parts;
}
