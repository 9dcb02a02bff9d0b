/** Reads the keys of a map by their rows (`agent-file-keys.ts`), for every source of the map. */
import { resolve } from "node:path";
import { findNearest } from "../../lib/nearest.ts";
import type { KeyRow } from "./agent-file-keys.ts";
import type { FileIssue, SourceEntry, SourceNode, SourcePlace } from "./source.ts";

/** Value of a setting in a file. */
export interface FileValue {
  readonly texts: readonly string[];
  /** The key as written in the file. */
  readonly key: string;
  readonly place: SourcePlace;
  /** The presence of another key implies this setting. */
  readonly isImplied?: true;
}

/** Whether the text is PEM itself and not a path. */
export function isPem(text: string): boolean {
  return text.trimStart().startsWith("-----BEGIN ");
}

export class RowReader {
  readonly #directory: string | undefined;
  readonly #issues: FileIssue[];
  readonly #warnings: FileIssue[];

  /** @param directory base of relative paths; undefined: paths are rejected */
  constructor(directory: string | undefined, issues: FileIssue[], warnings: FileIssue[]) {
    this.#directory = directory;
    this.#issues = issues;
    this.#warnings = warnings;
  }

  /** @param prefix of the rows' keys */
  readRows(
    entries: readonly SourceEntry[],
    rows: readonly KeyRow[],
    values: Map<string, FileValue>,
    prefix: string,
  ): void {
    for (const { key, place, node } of entries) {
      const path = `${prefix}${key}`;
      const row = rows.find((one) => one.key === path);
      if (row) this.#readRow(row, place, node, values);
      else if (rows.some((one) => one.key.startsWith(`${path}.`))) {
        this.readRows(this.entriesOf(node, `"${path}"`), rows, values, `${path}.`);
      } else this.issue(place, unknownKey(path, rows));
    }
  }

  #readRow(row: KeyRow, keyPlace: SourcePlace, node: SourceNode, values: Map<string, FileValue>): void {
    const { value, place } = node;
    if (value === undefined) return;
    const text = value.kind === "text" ? value.text : undefined;
    if (row.ignored !== undefined && (!row.ignoredTexts || row.ignoredTexts.includes(text ?? " "))) {
      if (text === undefined || !row.allowed?.includes(text)) {
        this.#warnings.push({ ...keyPlace, message: `"${row.key}" is ignored: ${row.ignored}` });
      }
      return;
    }
    if (row.setting === undefined) {
      const isFine = text !== undefined && row.allowed?.includes(text);
      if (!isFine) this.issue(keyPlace, `"${row.key}" is not supported: ${row.refused}`);
      return;
    }
    let texts: readonly string[] | undefined;
    try {
      texts = row.texts ? row.texts(node) : textsOf(node);
    } catch (error) {
      return this.issue(place, `"${row.key}" ${(error as Error).message}`);
    }
    if (!texts) return this.issue(place, `"${row.key}" must be one value or a list of values`);
    if (texts.length === 0) return;
    if (row.isPath && this.#directory === undefined && !texts.every(isPem)) {
      return this.issue(
        place,
        `"${row.key}" names a file: write the tunnel to an agent file, and start it from that file`,
      );
    }
    if (values.has(row.setting)) {
      return this.issue(keyPlace, `"${row.key}" sets the same value as another key of this entry: remove one`);
    }
    values.set(row.setting, {
      texts: row.isPath ? texts.map((text) => this.#pathOf(text)) : texts,
      key: row.key,
      place,
    });
    if (row.implies) {
      const [setting, text] = row.implies;
      values.set(setting, { texts: [text], key: row.key, place, isImplied: true });
    }
  }

  #pathOf(text: string): string {
    return text === "system" || text === "" || isPem(text) ? text : resolve(this.#directory ?? "", text);
  }

  /** Returns the entries of a map, or none for an absent value. Reports an issue for anything else. */
  entriesOf(node: SourceNode, what: string): readonly SourceEntry[] {
    if (node.value === undefined) return [];
    if (node.value.kind === "map") return node.value.entries;
    this.issue(node.place, `${what} must be a map: lines of "key: value"`);
    return [];
  }

  issue(place: SourcePlace, message: string): void {
    this.#issues.push({ ...place, message });
  }
}

function textsOf({ value }: SourceNode): readonly string[] | undefined {
  if (value?.kind === "text") return [value.text];
  if (value?.kind !== "list") return undefined;
  const texts = value.items.flatMap((item) => (item.value?.kind === "text" ? [item.value.text] : []));
  return texts.length === value.items.length ? texts : undefined;
}

export function unknownKey(path: string, rows: readonly KeyRow[]): string {
  const near = findNearest(
    path,
    rows.map(({ key }) => key),
  );
  return `unknown key "${path}"${near === undefined ? ": remove it" : `: did you mean "${near}"?`}`;
}
