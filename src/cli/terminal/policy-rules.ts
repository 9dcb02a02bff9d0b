/** Formats a rule of a policy in a dry run for people: its conditions, the values that decided them, and its effect. */
import { toVisibleLine } from "../../lib/visible-text.ts";
import { styleFor } from "./guarded-output.ts";

interface Rule {
  readonly matched: number;
  readonly failed: number;
  readonly values: readonly {
    readonly expression: string;
    readonly outcome: string;
    readonly parts: readonly { readonly text: string; readonly value: string }[];
  }[];
}

const colours: Readonly<Record<string, "green" | "red" | "dim">> = { true: "green", false: "dim", error: "red" };

/** Lines below the step of the rule. */
export function ruleLines({ values, matched, failed }: Rule, indent: string): string[] {
  const counts = failed > 0 ? `matched ${matched} times, failed ${failed}` : `matched ${matched} times`;
  const lines = values.flatMap(({ expression, outcome, parts }) => {
    const said = styleFor(colours[outcome] ?? "dim", toVisibleLine(outcome), process.stdout);
    const dim = (text: string): string => styleFor("dim", text, process.stdout);
    return [
      `${indent}${toVisibleLine(expression)}  → ${said}`,
      ...parts.map(({ text, value }) => dim(`${indent}  ${toVisibleLine(text)} = ${toVisibleLine(value)}`)),
    ];
  });
  return matched + failed > 0 ? [...lines, styleFor("dim", `${indent}${counts}`, process.stdout)] : lines;
}
