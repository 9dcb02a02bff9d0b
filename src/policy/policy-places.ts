/** Locates a finding in a policy's text. */
import { yamlPlaces } from "../lib/yaml.ts";
import type { YamlPlace } from "../lib/yaml.ts";
import type { PolicyWarning } from "./policy-issue.ts";

/** Line and column from 1; columns in code points. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Parses the text once. A finding that is nowhere in the text gets the place of its nearest parent. */
export function policyPlaces(text: string): (finding: Pick<PolicyWarning, "path" | "message" | "at">) => TextPlace {
  const find = yamlPlaces(text);
  return ({ path, message, at }) => {
    // A YAML syntax error contains its own place.
    const [, line, column] = path === "" ? (/ at line (\d+), column (\d+)/.exec(message) ?? []) : [];
    if (line !== undefined) return { line: Number(line), column: Number(column) };
    const keys = path.split(/[.[\]]+/).filter((part) => part !== "");
    const place = find(keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key)));
    if (!place) return { line: 1, column: 1 };
    return at && place.isExact ? placeInside(text, place, at) : placeAt(text, place.start);
  };
}

/** Converts a place in the value of a scalar to a place in the text. */
function placeInside(text: string, place: YamlPlace, { line, column }: TextPlace): TextPlace {
  const { start, end, style } = place;
  if (style === "block") {
    const head = placeAt(text, start).line;
    const own = text.split("\n")[head + line - 1] ?? "";
    const first = text.split("\n")[head] ?? "";
    const indent = /^ */.exec(line === 1 ? own : first)?.[0].length ?? 0;
    return { line: head + line, column: indent + column };
  }
  const written = text.slice(start, end);
  if (line !== 1 || style === "other" || written.includes("\n")) return placeAt(text, start);
  let at = style === "plain" ? 0 : 1;
  for (let left = column - 1; left > 0 && at < written.length; left -= 1) at += widthAt(written, at, style);
  return placeAt(text, start + at);
}

/** Returns the UTF-16 code units of one character of the value in its written form. */
function widthAt(written: string, at: number, style: YamlPlace["style"]): number {
  const two = written.slice(at, at + 2);
  if (style === "single" && two === "''") return 2;
  if (style === "double" && two.startsWith("\\")) return 2 + ({ x: 2, u: 4, U: 8 }[two[1] ?? ""] ?? 0);
  return (written.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function placeAt(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: Array.from(before.at(-1) ?? "").length + 1 };
}
