/** Reads YAML with the position of every value. Follows aliases and merge keys within limits. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from "yaml";
import type { Document } from "yaml";
import { ImportIssue } from "../report/report.ts";
import type { SettingPlace } from "../report/report.ts";
import { Bounds } from "./source-tree.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

const maxAliases = 100;

/** @throws ImportIssue with line and column */
export function readYaml(file: string, text: string): SourceNode {
  const lines = new LineCounter();
  const placeAt = (offset: number): SettingPlace => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  let documents: readonly Document[];
  try {
    const parsed = parseAllDocuments(text, {
      lineCounter: lines,
      prettyErrors: false,
      merge: true,
      logLevel: "silent",
    });
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    // The parser overflowed the stack.
    if (error instanceof RangeError) throw new ImportIssue({ file }, "the file is nested too deep", { cause: error });
    throw error;
  }
  const [document] = documents;
  if (!document || documents.length > 1) throw new ImportIssue({ file }, "the file must be one YAML document");
  const [fault] = document.errors;
  if (fault) throw new ImportIssue(placeAt(fault.pos[0]), `this is not valid YAML: ${fault.message.split("\n", 1)[0]}`);
  const reader = new YamlReader(document, placeAt);
  return reader.read(document.contents, placeAt(0), 1);
}

class YamlReader {
  readonly #document: Document;
  readonly #placeAt: (offset: number) => SettingPlace;
  readonly #bounds = new Bounds();
  #aliases = 0;

  constructor(document: Document, placeAt: (offset: number) => SettingPlace) {
    this.#document = document;
    this.#placeAt = placeAt;
  }

  read(node: unknown, fallback: SettingPlace, depth: number): SourceNode {
    const range = (node as { readonly range?: readonly number[] } | null)?.range;
    const place = range ? this.#placeAt(range[0] as number) : fallback;
    this.#bounds.count(place, depth);
    if (isAlias(node)) {
      this.#aliases += 1;
      if (this.#aliases > maxAliases) throw new ImportIssue(place, `the file has more than ${maxAliases} aliases`);
      return { place, value: this.read(node.resolve(this.#document), place, depth + 1).value };
    }
    if (isSeq(node)) {
      return { place, value: { kind: "list", items: node.items.map((item) => this.read(item, place, depth + 1)) } };
    }
    if (!isMap(node)) {
      const text = isScalar(node) && node.value !== null ? scalarText(node.value, node.source) : "";
      return { place, value: { kind: "text", text } };
    }
    const entries: SourceEntry[] = [];
    const merged: SourceEntry[] = [];
    for (const { key, value } of node.items) {
      const at = isScalar(key) && key.range ? this.#placeAt(key.range[0]) : place;
      if (!isScalar(key)) throw new ImportIssue(at, "a key must be a text");
      const read = this.read(value, at, depth + 1);
      // Only a merge key is parsed to a symbol.
      if (typeof key.value === "symbol") merged.push(...entriesOf(read));
      else entries.push({ key: String(key.value), place: at, node: read });
    }
    const known = new Set(entries.map(({ key }) => key));
    for (const entry of merged) {
      if (known.has(entry.key)) continue;
      known.add(entry.key);
      entries.push(entry);
    }
    return { place, value: { kind: "map", entries } };
  }
}

function entriesOf({ value }: SourceNode): readonly SourceEntry[] {
  if (value.kind === "list") return value.items.flatMap(entriesOf);
  return value.kind === "map" ? value.entries : [];
}

function scalarText(value: unknown, source: string | undefined): string {
  return typeof value === "string" ? value : (source ?? String(value));
}
