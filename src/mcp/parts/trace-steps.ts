/** Decisions about a request, in lines. */
import { fixOf, describeCode } from "../../lib/errors.ts";
import { quoteValue } from "./quote-value.ts";

export interface TraceStep {
  readonly by: string;
  readonly outcome: string;
  readonly reason: string;
  readonly decided_by: { readonly kind: string; readonly id: string; readonly revision: number } | null;
}

const maxSteps = 40;

/** One line per step, in order. Reasons contain configured and received values, so they are quoted. */
export function stepLines(steps: readonly TraceStep[]): readonly string[] {
  const lines = steps.slice(0, maxSteps).map(({ by, outcome, reason, decided_by: decider }) => {
    const who = decider ? ` (${decider.kind} ${decider.id}, revision ${decider.revision})` : "";
    return `- ${by} ${outcome}: ${quoteValue(reason, 400)}${who}`;
  });
  return steps.length > maxSteps ? [...lines, `… and ${steps.length - maxSteps} more decisions`] : lines;
}

/** The meaning and the fix of an error code. */
export function codeLines(code: string | null | undefined): readonly string[] {
  if (code === null || code === undefined) return [];
  return [`${code}: ${describeCode(code) ?? "unknown code"} ${fixOf(code) ?? ""}`.trimEnd()];
}
