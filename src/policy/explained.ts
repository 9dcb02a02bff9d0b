/** What an expression was, and the parts of it that decided, for `explain`. */
import type { Explanation } from "../cel/program.ts";
import { Failure } from "../cel/values/failure.ts";
import type { Result } from "../cel/values/run.ts";
import type { ExplainedValue } from "../traffic/step.ts";
import { textOf } from "./language/text-of.ts";

/** Parts of one expression, and characters of one value. */
const maxParts = 20;
const maxShown = 120;

export function valuesOf(source: string, { result, parts }: Explanation): ExplainedValue {
  const outcome = result instanceof Failure ? "error" : result === true ? "true" : "false";
  const shown = parts
    .filter((part) => part.text !== source && !isLiteral(part.text))
    .slice(0, maxParts)
    .map((part) => ({ text: part.text.slice(0, maxShown), value: shownValue(part.result) }));
  return { expression: source, outcome, parts: shown };
}

function isLiteral(text: string): boolean {
  return /^(?:'[^']*'|"[^"]*"|-?[\d.]+u?|true|false|null)$/.test(text);
}

function shownValue(value: Result): string {
  const text = value instanceof Failure ? `error: ${value.message}` : textOf(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
