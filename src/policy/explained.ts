/** The values of an expression and of its deciding parts, for `explain`. */
import type { ExplainedPart, Explanation } from "../cel/program.ts";
import { CelFailure } from "../cel/values/cel-failure.ts";
import { Meter } from "../cel/values/budget.ts";
import type { Result } from "../cel/values/budget.ts";
import type { ExplainedValue } from "../traffic/step.ts";
import { secretMask } from "../schema/concealment.ts";
import type { CompiledExpression } from "./compiled-policy.ts";
import { findRevealingParts } from "./lint/secret-uses.ts";
import { textOf } from "./language/text-of.ts";

/** Maximum parts of one expression, and characters of one value. */
const maxParts = 20;
const maxShown = 120;
/** Steps to write out one value, independent of the budget of traffic. */
const shownSteps = 1000;

/** @param secrets values that the expression, or an earlier one, has read; they are always masked */
export function valuesOf(
  { program: { source }, taint }: CompiledExpression,
  { result, parts, checked }: Explanation,
  secrets: ReadonlySet<string>,
): ExplainedValue {
  const telling = findRevealingParts(checked, taint);
  const outcome = result instanceof CelFailure ? "error" : result === true ? "true" : "false";
  const shown = parts
    .filter((part) => part.text !== source && !isLiteral(part.text))
    .slice(0, maxParts)
    .map((part) => ({ text: part.text.slice(0, maxShown), value: maskPart(part, telling, secrets) }));
  return { expression: source, outcome, parts: shown };
}

function isLiteral(text: string): boolean {
  return /^(?:'[^']*'|"[^"]*"|-?[\d.]+u?|true|false|null)$/.test(text);
}

/** Masks every value derived from a secret, such as a digest or a part of it. */
function maskPart({ node, result }: ExplainedPart, telling: ReadonlySet<number>, secrets: ReadonlySet<string>): string {
  if (!telling.has(node.id) || typeof result === "boolean") return maskValue(result, secrets);
  return result instanceof CelFailure ? `error: ${secretMask}` : secretMask;
}

function maskValue(value: Result, secrets: ReadonlySet<string>): string {
  const meter = new Meter();
  meter.steps = shownSteps;
  const written = value instanceof CelFailure ? value : textOf(value, meter);
  let text = written instanceof CelFailure ? `error: ${written.message}` : written;
  if (written instanceof CelFailure && written !== value) return "too large to show";
  for (const secret of secrets) if (secret !== "") text = text.replaceAll(secret, secretMask);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
