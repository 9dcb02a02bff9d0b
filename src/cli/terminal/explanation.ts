import { styleText } from "node:util";
import { ruleLines } from "./policy-rules.ts";
import type { Explanation } from "../../../sdk/src/index.ts";

const marks = { passed: "✓", changed: "~", skipped: "·", denied: "✗", answered: "=" } as const;
const colours = { passed: "green", changed: "yellow", skipped: "dim", denied: "red", answered: "cyan" } as const;

/** An explanation for people: one line for each decision, then how it ends. */
export function renderExplanation(told: Explanation): string {
  const lines: string[] = [];
  if (told.edge) lines.push(`edge   ${told.edge.id} (revision ${told.edge.revision})`);
  if (told.route) lines.push(`route  ${told.route.id} (revision ${told.route.revision})`);
  for (const { id, match_type, match, reason } of told.near_routes) {
    lines.push(styleText("dim", `nearly ${id}, ${match_type} "${match}": ${reason}`, { stream: process.stdout }));
  }
  lines.push("");
  const width = Math.max(0, ...told.steps.map(({ by }) => by.length));
  for (const { by, outcome, reason, decided_by: decider, rule } of told.steps) {
    const mark = styleText(colours[outcome], marks[outcome], { stream: process.stdout });
    const who = decider ? `  [${decider.kind} ${decider.id}, revision ${decider.revision}]` : "";
    lines.push(`${mark} ${by.padEnd(width)}  ${reason}${who}`);
    if (rule) lines.push(...ruleLines(rule, " ".repeat(width + 6)));
  }
  lines.push("", ending(told), "");
  return lines.join("\n");
}

function ending({ outcome, status_code: status, error_code: code, tunnel, address }: Explanation): string {
  if (outcome !== "forwarded") return `${outcome}: ${status}${code === null ? "" : ` ${code}`}`;
  if (tunnel) return `forwarded through ${tunnel.id} to ${tunnel.forwards_to}`;
  return address === null ? "forwarded" : `forwarded to ${address}`;
}
