/** Checks fenced code blocks of a Markdown page: each must end, and JSON and YAML must be valid. */
import { parseAllDocuments } from "yaml";

/** Returns `line: error` for each invalid block. */
export function faultsOfBlocks(markdown: string): readonly string[] {
  const faults: string[] = [];
  let open: { readonly line: number; readonly mark: string; readonly language: string; text: string } | undefined;
  for (const [at, line] of markdown.split("\n").entries()) {
    const [, mark = "", info = ""] = /^\s*(`{3,}|~{3,})\s*([^\s`]*)/.exec(line) ?? [];
    if (open === undefined) {
      if (mark !== "") open = { line: at + 1, mark, language: info, text: "" };
    } else if (mark.startsWith(open.mark) && info === "") {
      const fault = faultOf(open.language, open.text);
      if (fault !== undefined) faults.push(`${open.line}: ${fault}`);
      open = undefined;
    } else open.text += `${line}\n`;
  }
  if (open !== undefined) faults.push(`${open.line}: the code block has no end`);
  return faults;
}

function faultOf(language: string, text: string): string | undefined {
  // An ellipsis marks an omitted part.
  if (text.includes("…") || text.includes("...")) return undefined;
  try {
    if (language === "json") JSON.parse(text);
    if (language === "yaml") for (const { errors } of parseAllDocuments(text)) if (errors[0]) throw errors[0];
  } catch (error) {
    return `the ${language} block cannot be parsed: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`;
  }
  return undefined;
}
