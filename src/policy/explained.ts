/** What an expression was, and the parts of it that decided, for `explain`. */
import type { ExplainedPart, Explanation } from "../cel/program.ts";
import { Failure } from "../cel/values/failure.ts";
import type { Result } from "../cel/values/run.ts";
import type { ExplainedValue } from "../traffic/step.ts";
import { secretMask } from "../schema/concealment.ts";
import { secretGet } from "./functions/secrets.ts";
import { textOf } from "./language/text-of.ts";

/** Parts of one expression, and characters of one value. */
const maxParts = 20;
const maxShown = 120;

/** @param secrets that the expression, or one before it, has read: they are shown nowhere */
export function valuesOf(source: string, { result, parts }: Explanation, secrets: ReadonlySet<string>): ExplainedValue {
  const outcome = result instanceof Failure ? "error" : result === true ? "true" : "false";
  const shown = parts
    .filter((part) => part.text !== source && !isLiteral(part.text))
    .slice(0, maxParts)
    .map((part) => ({ text: part.text.slice(0, maxShown), value: shownPart(part, secrets) }));
  return { expression: source, outcome, parts: shown };
}

function isLiteral(text: string): boolean {
  return /^(?:'[^']*'|"[^"]*"|-?[\d.]+u?|true|false|null)$/.test(text);
}

/** What is made of a secret is masked, whatever it has become: a digest of it, or a part. */
function shownPart({ text, result }: ExplainedPart, secrets: ReadonlySet<string>): string {
  const calls = text.replaceAll(/\/\/[^\n]*|\s/g, "");
  if (calls.includes(secretGet()) && typeof result !== "boolean" && !(result instanceof Failure)) return secretMask;
  return shownValue(result, secrets);
}

function shownValue(value: Result, secrets: ReadonlySet<string>): string {
  let text = value instanceof Failure ? `error: ${value.message}` : textOf(value);
  for (const secret of secrets) if (secret !== "") text = text.replaceAll(secret, secretMask);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
