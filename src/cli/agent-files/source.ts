/** Parses a YAML file and keeps the position of each value, so that errors have a line and column. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document } from "yaml";

export interface SourcePlace {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
}

/** One error in a file. */
export interface FileIssue extends SourcePlace {
  /** What is wrong and how to fix it. */
  readonly message: string;
}

export interface SourceNode {
  readonly place: SourcePlace;
  /** Undefined for an empty value. */
  readonly value: SourceValue | undefined;
}

export type SourceValue =
  /** A number or boolean as written in the file. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly SourceNode[] }
  | { readonly kind: "map"; readonly entries: readonly SourceEntry[]; readonly plain: unknown };

export interface SourceEntry {
  readonly key: string;
  readonly place: SourcePlace;
  readonly node: SourceNode;
}

const maxAliases = 100;

/** Reads `text`; `issues` are errors of its syntax. Follows at most a hundred aliases. */
export function readSource(path: string, text: string): { readonly root: SourceNode; readonly issues: FileIssue[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    merge: true,
  });
  const placeAt = (offset: number): SourcePlace => {
    const { line, col } = lines.linePos(offset);
    return { path, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const issues: FileIssue[] = document.errors.map(({ message, pos }) => ({
    ...placeAt(pos[0]),
    message: `this is not valid YAML: ${message}`,
  }));
  if (issues.length > 0) return { root: { place: placeAt(0), value: undefined }, issues };
  const reader = new SourceReader(document, placeAt, issues);
  return { root: reader.read(document.contents, placeAt(0)), issues };
}

class SourceReader {
  readonly #document: Document;
  readonly #placeAt: (offset: number) => SourcePlace;
  readonly #issues: FileIssue[];
  #aliases = 0;

  constructor(document: Document, placeAt: (offset: number) => SourcePlace, issues: FileIssue[]) {
    this.#document = document;
    this.#placeAt = placeAt;
    this.#issues = issues;
  }

  /** Returns the entries of a map or a list of maps. */
  #mergedEntries({ place, value }: SourceNode): readonly SourceEntry[] {
    const maps = value?.kind === "list" ? value.items.map((item) => item.value) : [value];
    return maps.flatMap((map) => {
      if (map?.kind === "map") return map.entries;
      this.#issues.push({ ...place, message: '"<<" must name a map, or a list of maps: write <<: *NAME' });
      return [];
    });
  }

  read(node: unknown, fallback: SourcePlace): SourceNode {
    if (isAlias(node)) {
      this.#aliases += 1;
      const place = node.range ? this.#placeAt(node.range[0]) : fallback;
      if (this.#aliases > maxAliases) {
        if (this.#aliases === maxAliases + 1) this.#issues.push({ ...place, message: "the file has too many aliases" });
        return { place, value: undefined };
      }
      return { place, value: this.read(node.resolve(this.#document), place).value };
    }
    if (isScalar(node)) {
      const place = node.range ? this.#placeAt(node.range[0]) : fallback;
      if (node.value === null || node.value === undefined) return { place, value: undefined };
      return { place, value: { kind: "text", text: scalarText(node.value, node.source) } };
    }
    if (isSeq(node)) {
      const place = node.range ? this.#placeAt(node.range[0]) : fallback;
      return { place, value: { kind: "list", items: node.items.map((item) => this.read(item, place)) } };
    }
    if (!isMap(node)) return { place: fallback, value: undefined };
    const document = this.#document;
    const place = node.range ? this.#placeAt(node.range[0]) : fallback;
    const entries: SourceEntry[] = [];
    const merged: SourceEntry[] = [];
    for (const { key, value } of node.items) {
      const at = isScalar(key) && key.range ? this.#placeAt(key.range[0]) : place;
      const name = isScalar(key) ? String(key.value) : "";
      // Only a merge key is parsed to a symbol.
      if (isScalar(key) && typeof key.value === "symbol") merged.push(...this.#mergedEntries(this.read(value, at)));
      else entries.push({ key: name, place: at, node: this.read(value, at) });
    }
    // A key of the map itself wins, then the first merged map.
    const known = new Set(entries.map(({ key }) => key));
    for (const one of merged) {
      if (known.has(one.key)) continue;
      known.add(one.key);
      entries.push(one);
    }
    return {
      place,
      value: {
        kind: "map",
        entries,
        get plain(): unknown {
          return node.toJS(document) as unknown;
        },
      },
    };
  }
}

/** Returns the text as written where YAML would read a number: `007` and `1_000` keep their form. */
function scalarText(value: unknown, source: string | undefined): string {
  return typeof value === "string" ? value : (source ?? String(value));
}
