/** Reads JSON with a pointer (RFC 6901) for every value. */
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import { ImportIssue } from "../report/report.ts";
import type { SettingPlace } from "../report/report.ts";
import { Bounds } from "./source-tree.ts";
import type { SourceNode } from "./source-tree.ts";

/** @throws ImportIssue for text that is not a single JSON object */
export function readJsonTree(file: string, text: string): SourceNode {
  let value: unknown;
  try {
    value = parseJsonObject(Buffer.from(text));
  } catch (error) {
    if (error instanceof JsonIssue) throw new ImportIssue({ file }, `the file ${error.message}`, { cause: error });
    throw error;
  }
  return treeOf(value, { file, pointer: "" }, 1, new Bounds());
}

function treeOf(value: unknown, place: SettingPlace, depth: number, bounds: Bounds): SourceNode {
  bounds.count(place, depth);
  const below = (key: string): SettingPlace => ({
    ...place,
    pointer: `${place.pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
  });
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => treeOf(item, below(String(index)), depth + 1, bounds));
    return { place, value: { kind: "list", items } };
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => ({
      key,
      place: below(key),
      node: treeOf(inner, below(key), depth + 1, bounds),
    }));
    return { place, value: { kind: "map", entries } };
  }
  return { place, value: { kind: "text", text: value === null ? "" : String(value as string | number | boolean) } };
}
