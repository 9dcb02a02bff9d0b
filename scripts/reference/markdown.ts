/** Returns a table. Cells may contain inline Markdown. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |\n`);
  return `${lines.join("")}\n`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Returns a generated page. */
export function page(title: string, introduction: string, parts: readonly string[]): string {
  const note = "<!-- Generated from the declarations by `npm run generate`. -->";
  return `${`# ${title}\n\n${note}\n\n${introduction}\n\n${parts.join("")}`.trimEnd()}\n`;
}
