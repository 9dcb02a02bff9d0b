import { countryText } from "../../lib/countries.ts";
import { toVisibleLines } from "../../lib/visible-text.ts";
import { styleFor } from "./guarded-output.ts";
import { ruleLines } from "./policy-rules.ts";
import type { Explanation } from "../../../sdk/src/index.ts";

const marks = { passed: "✓", changed: "~", skipped: "·", denied: "✗", answered: "=" } as const;
const colours = { passed: "green", changed: "yellow", skipped: "dim", denied: "red", answered: "cyan" } as const;

/** Formats an explanation for people: one line per decision, then the result. */
export function renderExplanation(explanation: Explanation): string {
  const report = toVisibleLines(explanation);
  const lines: string[] = [];
  if (report.edge) lines.push(`edge   ${report.edge.id} (revision ${report.edge.revision})`);
  if (report.route) lines.push(`route  ${report.route.id} (revision ${report.route.revision})`);
  if (report.source_country !== null) lines.push(`from   ${countryText(report.source_country)}`);
  for (const { id, match_type, match, reason } of report.near_routes) {
    lines.push(styleFor("dim", `nearly ${id}, ${match_type} "${match}": ${reason}`, process.stdout));
  }
  lines.push("");
  const width = Math.max(0, ...report.steps.map(({ by }) => by.length));
  for (const { by, outcome, reason, decided_by: decider, rule } of report.steps) {
    const mark = styleFor(colours[outcome], marks[outcome], process.stdout);
    // Rules that an agent sets for its tunnel belong to no stored object, so they have no revision.
    const since = decider && decider.revision > 0 ? `, revision ${decider.revision}` : "";
    const who = decider ? `  [${decider.kind} ${decider.id}${since}]` : "";
    lines.push(`${mark} ${by.padEnd(width)}  ${reason}${who}`);
    if (rule) lines.push(...ruleLines(rule, " ".repeat(width + 6)));
  }
  lines.push("", renderEnding(report), "");
  return lines.join("\n");
}

function renderEnding({ outcome, status_code: status, error_code: code, tunnel, address }: Explanation): string {
  if (outcome !== "forwarded") return `${outcome}: ${status}${code === null ? "" : ` ${code}`}`;
  if (tunnel) return `forwarded through ${tunnel.id} to ${tunnel.forwards_to}`;
  return address === null ? "forwarded" : `forwarded to ${address}`;
}
