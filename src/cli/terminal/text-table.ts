/** Formats API objects as text for people: several as a table, one as its fields. */
import { toVisibleLine } from "../../lib/visible-text.ts";
import { styleFor as styled } from "./guarded-output.ts";
import { isJsonObject } from "../../lib/json.ts";

type TableRow = Readonly<Record<string, unknown>>;

/** Fields left out of tables because they add little or repeat another field. */
const leftOut: ReadonlySet<string> = new Set(["uri", "metadata"]);
/** Maximum width of a column, characters. */
const maxColumn = 60;
const gap = "  ";

export interface Columns {
  readonly names: readonly string[];
  readonly widths: readonly number[];
}

/** Returns the columns for `rows`, without empty columns. */
export function columnsOf(rows: readonly TableRow[], width = Number.POSITIVE_INFINITY): Columns {
  const known = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !leftOut.has(name));
  const filled = known.filter((name) => rows.some((row) => renderCell(row[name]) !== ""));
  const names: string[] = [];
  const widths: number[] = [];
  let used = 0;
  for (const name of [
    ...filled.filter((one) => one !== "created_at"),
    ...filled.filter((one) => one === "created_at"),
  ]) {
    const own = Math.min(maxColumn, Math.max(name.length, ...rows.map((row) => lengthOf(renderCell(row[name])))));
    // Columns that do not fit on the terminal are left out. `get` shows them.
    if (names.length > 0 && used + own > width) continue;
    names.push(name);
    widths.push(own);
    used += own + gap.length;
  }
  return { names, widths };
}

export function renderHead({ names, widths }: Columns): string {
  return styleText(
    "bold",
    names
      .map((name, at) =>
        toVisibleLine(name)
          .toUpperCase()
          .padEnd(widths[at] as number),
      )
      .join(gap)
      .trimEnd(),
  );
}

export function renderRow(row: TableRow, { names, widths }: Columns): string {
  const cells = names.map((name, at) =>
    padText(fitText(renderCell(row[name]), widths[at] as number), widths[at] as number),
  );
  return cells.join(gap).trimEnd();
}

/** Formats one object: one line per field, nested objects indented. */
export function renderObject(object: TableRow, indent = ""): string {
  const entries = Object.entries(object).map(([name, value]) => [toVisibleLine(name), value] as const);
  const column = Math.max(...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      const label = styleText("dim", name);
      if (isJsonObject(value) && !isRef(value) && Object.keys(value).length > 0) {
        return `${indent}${label}\n${renderObject(value, `${indent}  `)}`;
      }
      if (Array.isArray(value) && value.some((one) => isJsonObject(one) && !isRef(one))) {
        const items = value.map((one: unknown) => renderObject(isJsonObject(one) ? one : { "": one }, `${indent}    `));
        return `${indent}${label}\n${items.map((item) => item.replace(/^( *) {2}/, "$1- ")).join("\n")}`;
      }
      if (typeof value === "string" && value.includes("\n")) {
        const lines = value.trimEnd().split("\n");
        return `${indent}${label}\n${lines.map((line) => `${indent}  | ${toVisibleLine(line)}`).join("\n")}`;
      }
      const text = renderCell(value);
      return text === "" ? `${indent}${label}` : `${indent}${label}${" ".repeat(column - name.length)}  ${text}`;
    })
    .join("\n");
}

/** Formats a value on one line. */
function renderCell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "string") return toVisibleLine(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map((one) => renderCell(one)).join(", ");
  if (!isJsonObject(value)) return "";
  if (isRef(value)) return renderCell(value["id"]);
  const { enabled, ...rest } = value;
  if (typeof enabled === "boolean") return enabled ? "on" : "off";
  return Object.entries(rest)
    .map(([name, one]) => `${toVisibleLine(name)}=${renderCell(one)}`)
    .join(", ");
}

function isRef(value: TableRow): boolean {
  return typeof value["id"] === "string" && typeof value["uri"] === "string" && Object.keys(value).length === 2;
}

function fitText(text: string, width: number): string {
  return lengthOf(text) <= width
    ? text
    : `${signsOf(text)
        .slice(0, width - 1)
        .join("")}…`;
}

function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - lengthOf(text)));
}

function lengthOf(text: string): number {
  return signsOf(text).length;
}

/** Splits text into the characters that a reader perceives (grapheme clusters). */
function signsOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const segmenter = new Intl.Segmenter();

function styleText(format: "bold" | "dim", text: string): string {
  return styled(format, text, process.stdout);
}
