/** Formats the changes of a document for people: one line per object and one per field. */
import type { styleText } from "node:util";
import { toVisibleLine, toVisibleLines } from "../../lib/visible-text.ts";
import { styleFor as styled } from "./guarded-output.ts";
import type { Plan } from "../../../sdk/src/index.ts";

type Change = Plan["changes"][number];

/** Maximum length of a shown value, characters. */
const maxShown = 120;

const marks = {
  create: ["+", "green"],
  update: ["~", "yellow"],
  delete: ["-", "red"],
  unchanged: [" ", "dim"],
} as const;

/** Ends with a line break. `output` decides whether colours are used. */
export function renderPlan(changePlan: Plan, output: NodeJS.WritableStream): string {
  // Values are shown as JSON, which makes them visible.
  const plan = { ...toVisibleLines(changePlan), changes: changePlan.changes };
  const style = (format: Parameters<typeof styleText>[0], text: string): string => styled(format, text, output);
  const lines: string[] = [];
  for (const change of plan.changes) {
    const adopted = change.adopted && change.action !== "create";
    if (change.action === "unchanged" && !adopted) continue;
    const [mark, colour] = marks[change.action];
    const note = adopted ? style("dim", "  the document takes it over") : "";
    lines.push(`${style(colour, `${mark} ${change.kind} ${toVisibleLine(nameOf(change))}`)}${note}`);
    // The old fields of a deleted object are not shown.
    if (change.action === "delete") continue;
    const width = Math.max(...change.fields.map(({ path }) => path.length), 0);
    for (const { path, before, after } of change.fields) {
      const from = change.action === "update" ? `${style("red", renderValue(before))} → ` : "";
      lines.push(`    ${toVisibleLine(path).padEnd(width)}  ${from}${style("green", renderValue(after))}`);
    }
  }
  for (const { kind, name, path, message } of plan.warnings) {
    lines.push(`${style("yellow", "!")} ${kind} ${name ?? ""}: ${path}: ${message}`);
  }
  if (lines.length > 0) lines.push("");
  return `${[...lines, summaryOf(plan)].join("\n")}\n`;
}

function nameOf({ name, id, fields }: Change): string {
  if (name !== null) return name;
  const telling = fields.find(({ path }) => path === "domain" || path === "name" || path === "addr");
  return telling ? `${renderValue(telling.after ?? telling.before)} (derived from other fields)` : id;
}

function summaryOf({ summary, applied, document, revision }: Plan): string {
  const { create, update, delete: gone, unchanged } = summary;
  const total = create + update + gone;
  const counts = applied
    ? `${create} created, ${update} changed, ${gone} deleted, ${unchanged} unchanged`
    : `${create} to create, ${update} to change, ${gone} to delete, ${unchanged} unchanged`;
  if (total === 0) return `Document ${document}: nothing to change, ${unchanged} unchanged.`;
  return `Document ${document}: ${counts}${applied ? `, as revision ${revision}` : ""}.`;
}

function renderValue(value: unknown): string {
  const text = toVisibleLine(JSON.stringify(value) ?? "null");
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
