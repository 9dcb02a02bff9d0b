/** A rule of a policy in a dry run, for people: its conditions, the values that decided them, and what it did. */
import { styleText } from "node:util";

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

/** Lines below the step that tells of the rule. */
export function ruleLines({ values, matched, failed }: Rule, indent: string): string[] {
  const counts = failed > 0 ? `matched ${matched} times, failed ${failed}` : `matched ${matched} times`;
  const lines = values.flatMap(({ expression, outcome, parts }) => {
    const said = styleText(colours[outcome] ?? "dim", outcome, { stream: process.stdout });
    const dim = (text: string): string => styleText("dim", text, { stream: process.stdout });
    return [
      `${indent}${oneLine(expression)}  → ${said}`,
      ...parts.map(({ text, value }) => dim(`${indent}  ${oneLine(text)} = ${oneLine(value)}`)),
    ];
  });
  return matched + failed > 0 ? [...lines, styleText("dim", `${indent}${counts}`, { stream: process.stdout })] : lines;
}

/** Without what a terminal takes for anything but text. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u200b-\u200f\u2028-\u202e\u2066-\u2069]/gu, " ");
}
