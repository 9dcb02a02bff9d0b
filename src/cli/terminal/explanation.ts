import { countryText } from "../../lib/countries.ts";
import { visibleLines } from "../../lib/visible-text.ts";
import { style } from "./guarded-output.ts";
import { ruleLines } from "./policy-rules.ts";
import type { Explanation } from "../../../sdk/src/index.ts";

const marks = { passed: "✓", changed: "~", skipped: "·", denied: "✗", answered: "=" } as const;
const colours = { passed: "green", changed: "yellow", skipped: "dim", denied: "red", answered: "cyan" } as const;

/** Formats an explanation for people: one line per decision, then the result. */
export function renderExplanation(given: Explanation): string {
  const told = visibleLines(given);
  const lines: string[] = [];
  if (told.edge) lines.push(`edge   ${told.edge.id} (revision ${told.edge.revision})`);
  if (told.route) lines.push(`route  ${told.route.id} (revision ${told.route.revision})`);
  if (told.source_country !== null) lines.push(`from   ${countryText(told.source_country)}`);
  for (const { id, match_type, match, reason } of told.near_routes) {
    lines.push(style("dim", `nearly ${id}, ${match_type} "${match}": ${reason}`, process.stdout));
  }
  lines.push("");
  const width = Math.max(0, ...told.steps.map(({ by }) => by.length));
  for (const { by, outcome, reason, decided_by: decider, rule } of told.steps) {
    const mark = style(colours[outcome], marks[outcome], process.stdout);
    // Rules that an agent sets for its tunnel belong to no stored object, so they have no revision.
    const since = decider && decider.revision > 0 ? `, revision ${decider.revision}` : "";
    const who = decider ? `  [${decider.kind} ${decider.id}${since}]` : "";
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
