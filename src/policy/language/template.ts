/** Interpolation: texts with `${expression}` in them. */
import { compile } from "../../cel/program.ts";
import type { Program } from "../../cel/program.ts";
import type { Environment } from "../../cel/checking/environment.ts";
import { endOfExpression } from "../../cel/syntax/tokens.ts";
import type { CheckedTree } from "../../cel/checking/checked.ts";
import { issueAt } from "../../cel/syntax/issue.ts";
import type { Issue } from "../../cel/syntax/issue.ts";
import { Failure } from "../../cel/values/failure.ts";
import type { Result } from "../../cel/values/run.ts";
import type { Value } from "../../cel/values/values.ts";
import type { PolicyContext } from "./context.ts";
import { textOf } from "./text-of.ts";

/** UTF-16 code units that one template may come to. */
const maxText = 65_536;

export interface Template {
  readonly source: string;
  /** The text, where it holds no expression. */
  readonly constant: string | undefined;
  /** Names of the variables that it mentions. */
  readonly variables: readonly string[];
  /** Names of the functions that it calls whose value may be another one each time. */
  readonly volatile: readonly string[];
  /** The text with its expressions' values; a failure of one of them, or of too much text. */
  text(context: PolicyContext): string | Failure;
  /** As `text`, but what is exactly one `${…}` keeps its type. */
  value(context: PolicyContext): Result;
}

/**
 * @param wrong told of each thing that is wrong with it
 * @param read told of each expression in it, and how many UTF-16 code units are before that
 */
export function compileTemplate(
  source: string,
  environment: Environment,
  wrong: (issue: Issue) => void,
  read: (checked: CheckedTree, offset: number) => void = () => {},
): Template {
  const volatile: string[] = [];
  const parts = partsOf(source, environment, wrong, (checked, offset) => {
    for (const { name, overloads } of checked.calls.values()) {
      if (overloads.some(({ isVolatile }) => isVolatile === true)) volatile.push(name);
    }
    read(checked, offset);
  });
  const [first] = parts;
  if (parts.length === 0) return constant(source, "");
  if (parts.length === 1 && typeof first === "string") return constant(source, first);
  const only = parts.length === 1 ? (first as Program) : undefined;
  const text = (context: PolicyContext): string | Failure => {
    let whole = "";
    for (const part of parts) {
      if (typeof part === "string") {
        whole += part;
        continue;
      }
      const value = part.evaluate(context, context);
      if (value instanceof Failure) return value;
      whole += textOf(value);
      if (whole.length > maxText) return new Failure(`a text is longer than ${maxText} characters`);
    }
    return whole;
  };
  return {
    source,
    constant: undefined,
    variables: parts.flatMap((part) => (typeof part === "string" ? [] : part.variables)),
    volatile,
    text,
    value: only ? (context) => only.evaluate(context, context) : text,
  };
}

function constant(source: string, text: string): Template {
  return { source, constant: text, variables: [], volatile: [], text: () => text, value: (): Value => text };
}

/** `$${` is a literal `${`; any other `$` is itself. */
function partsOf(
  source: string,
  environment: Environment,
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
      wrong(issueAt(source, start, "the `${` is not closed by a `}`", "write `$${` for the text itself"));
      return parts;
    }
    literal += source.slice(at, start);
    if (literal !== "") parts.push(literal);
    literal = "";
    const compiled = compile(source.slice(start + 2, end), environment);
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
