/** Configuration as a tree with positions, independent of the format. */
import { ImportIssue } from "../report/report.ts";
import type { SettingPlace } from "../report/report.ts";

export interface SourceNode {
  readonly place: SettingPlace;
  readonly value: SourceValue;
}

export type SourceValue =
  /** Numbers and booleans are also text; `null` is an empty text. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly SourceNode[] }
  | { readonly kind: "map"; readonly entries: readonly SourceEntry[] };

export interface SourceEntry {
  readonly key: string;
  /** Position of the key. */
  readonly place: SettingPlace;
  readonly node: SourceNode;
}

/** Maximum nesting of lists and maps. */
const maxDepth = 32;
/** Maximum number of values in one file, including repetitions by aliases. */
const maxNodes = 50_000;

/** Counts the nodes that a reader creates. */
export class Bounds {
  #nodes = 0;

  /** @throws ImportIssue for a node that is too deep, or exceeds the maximum number */
  count(place: SettingPlace, depth: number): void {
    this.#nodes += 1;
    if (depth > maxDepth) throw new ImportIssue(place, `the file is nested deeper than ${maxDepth}`);
    if (this.#nodes > maxNodes) throw new ImportIssue(place, `the file has more than ${maxNodes} values`);
  }
}

/** Returns the node at a path of keys such as `transport.tls.enable`; undefined if a key is missing. */
export function nodeAt(node: SourceNode | undefined, path: string): SourceNode | undefined {
  let found = node;
  for (const key of path.split(".")) {
    if (found?.value.kind !== "map") return undefined;
    found = found.value.entries.findLast((entry) => entry.key === key)?.node;
  }
  return found;
}

/** Returns the text at a path; undefined if it is missing or empty. */
export function textAt(node: SourceNode | undefined, path: string): string | undefined {
  const found = nodeAt(node, path);
  return found?.value.kind === "text" && found.value.text !== "" ? found.value.text : undefined;
}

export function isTrue(node: SourceNode | undefined, path: string): boolean {
  return textAt(node, path) === "true";
}

/** Returns a list of texts, also for a single text. */
export function textsAt(node: SourceNode | undefined, path: string): string[] {
  const found = nodeAt(node, path);
  if (found?.value.kind === "text") return found.value.text === "" ? [] : [found.value.text];
  if (found?.value.kind !== "list") return [];
  return found.value.items.flatMap(({ value }) => (value.kind === "text" ? [value.text] : []));
}

export function itemsAt(node: SourceNode | undefined, path: string): readonly SourceNode[] {
  const found = nodeAt(node, path);
  return found?.value.kind === "list" ? found.value.items : [];
}

export function entriesAt(node: SourceNode | undefined, path: string): readonly SourceEntry[] {
  const found = path === "" ? node : nodeAt(node, path);
  return found?.value.kind === "map" ? found.value.entries : [];
}
