/** Returns a table. Cells may contain inline Markdown. */
export function renderTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.map(renderCell).join(" | ")} |\n`);
  return `${lines.join("")}\n`;
}

function renderCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

export function toCode(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Returns a generated page. */
export function renderPage(title: string, introduction: string, parts: readonly string[]): string {
  const note = "<!-- Generated from the declarations by `npm run generate`. -->";
  return `${`# ${title}\n\n${note}\n\n${introduction}\n\n${parts.join("")}`.trimEnd()}\n`;
}
