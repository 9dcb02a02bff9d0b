/** Index of the decision records: numbers, titles, states and dates, read from the records. */
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

export interface DecisionRecord {
  readonly file: string;
  readonly number: number;
  readonly title: string;
  /** `in effect`, or `replaced by [N](…)`. */
  readonly status: string;
  /** Dates of the decision and of its last change. */
  readonly date: string;
  readonly text: string;
}

const folder = "docs/decisions";
const head = /^# (\d+)\. (.+)\n\nStatus: (in effect|replaced by \[\d+\]\(\S+\))\n\nDate: (.+)\n\n## Context\n/;

/** Throws for a record that does not begin with number, title, status and date. */
export function readDecisions(): readonly DecisionRecord[] {
  return globSync(`${folder}/0*.md`)
    .sort()
    .map((path) => {
      const text = readFileSync(path, "utf8");
      const [, number, title, status, date] = head.exec(text) ?? [];
      if (title === undefined || status === undefined || date === undefined) {
        throw new Error(`${path} must begin with "# NUMBER. TITLE", "Status: in effect", "Date: …" and "## Context"`);
      }
      return { file: basename(path), number: Number(number), title, status, date, text };
    });
}

/** The table of `docs/decisions/README.md`. The text above it is written by hand. */
export function decisionsIndex(): [path: string, content: string] {
  const path = `${folder}/README.md`;
  const introduction = readFileSync(path, "utf8").split("\n| ", 1)[0] ?? "";
  const cells = [
    ["No.", "Decision", "Status", "Date"],
    ...readDecisions().map(({ number, title, file, status, date }) => [
      String(number),
      `[${title}](${file})`,
      status,
      date,
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const [first, ...rows] = cells.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  const line = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [path, `${introduction}\n${[first, line, ...rows].join("\n")}\n`];
}
