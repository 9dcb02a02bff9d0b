/** Reads the INI form of frp before version 0.52: sections with `key = value` lines. */
import { ImportIssue } from "../report/report.ts";
import type { SettingPlace } from "../report/report.ts";
import { Bounds } from "./source-tree.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

/**
 * Each section is an entry of the root.
 * @throws ImportIssue with line and column
 */
export function readIni(file: string, text: string): SourceNode {
  const sections: (SourceEntry & { readonly entries: SourceEntry[] })[] = [];
  const bounds = new Bounds();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const place: SettingPlace = { file, line: index + 1, column: line.length - line.trimStart().length + 1 };
    const content = line.trim();
    if (content === "" || content.startsWith("#") || content.startsWith(";")) continue;
    bounds.count(place, 1);
    const [, name] = /^\[([^\]]+)\]$/.exec(content) ?? [];
    if (name !== undefined) {
      if (sections.some(({ key }) => key === name)) throw new ImportIssue(place, `the section "${name}" occurs twice`);
      const entries: SourceEntry[] = [];
      sections.push({ key: name, place, node: { place, value: { kind: "map", entries } }, entries });
      continue;
    }
    const [, key, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(content) ?? [];
    const section = sections.at(-1);
    if (key === undefined || value === undefined) throw new ImportIssue(place, "expected [section] or key = value");
    if (!section) throw new ImportIssue(place, "expected a [section] before the first key");
    if (section.entries.some((entry) => entry.key === key)) throw new ImportIssue(place, `"${key}" is set twice`);
    const unquoted = /^"(.*)"$|^'(.*)'$|^`(.*)`$/.exec(value);
    section.entries.push({
      key,
      place,
      node: { place, value: { kind: "text", text: unquoted?.[1] ?? unquoted?.[2] ?? unquoted?.[3] ?? value } },
    });
  }
  return {
    place: { file, line: 1, column: 1 },
    value: { kind: "map", entries: sections.map(({ key, place, node }) => ({ key, place, node })) },
  };
}
