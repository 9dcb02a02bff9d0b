/** Agents' files: which format each is in, and what they say together. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { nearest } from "../../lib/nearest.ts";
import { Failure } from "../process/exit.ts";
import { agentKeys, endpointKeys, tunnelKeys } from "./keys.ts";
import type { KeyRow } from "./keys.ts";
import { readSource } from "./source.ts";
import type { FileIssue, SourceEntry, SourceNode, SourcePlace } from "./source.ts";

/** What a setting is given in a file. */
export interface FileValue {
  readonly texts: readonly string[];
  /** As it is written there. */
  readonly key: string;
  readonly place: SourcePlace;
}

/** One entry of `tunnels:` or `endpoints:`; settings by name. */
export interface TunnelEntry {
  readonly name: string;
  readonly place: SourcePlace;
  readonly values: ReadonlyMap<string, FileValue>;
}

/** Version 2 and 3 are the vendor's; a file without a version is in Postern's own format. */
export type FileFormat = "own" | 2 | 3;

export interface AgentFiles {
  readonly formats: readonly (readonly [path: string, format: FileFormat])[];
  /** Of the agent itself; settings by name. */
  readonly values: ReadonlyMap<string, FileValue>;
  readonly tunnels: readonly TunnelEntry[];
  readonly issues: readonly FileIssue[];
}

/** Most that a file may hold, in bytes. */
const maxFileBytes = 1_048_576;

/** Reads the files; of what several say, the last is taken. Throws `Failure` (usage) for one that cannot be read. */
export function readAgentFiles(paths: readonly string[]): AgentFiles {
  const values = new Map<string, FileValue>();
  const tunnels = new Map<string, TunnelEntry>();
  const issues: FileIssue[] = [];
  const formats = paths.map((path) => {
    const file = new FileReader(path, readText(path), issues);
    for (const [name, value] of file.values) values.set(name, value);
    for (const tunnel of file.tunnels) {
      const before = tunnels.get(tunnel.name)?.values ?? [];
      tunnels.set(tunnel.name, { ...tunnel, values: new Map([...before, ...tunnel.values]) });
    }
    return [path, file.format] as const;
  });
  return { formats, values, tunnels: [...tunnels.values()], issues };
}

export function renderIssue({ path, line, column, message }: FileIssue): string {
  return `${path}:${line}:${column}: ${message}`;
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes`);
    return bytes.toString("utf8");
  } catch (error) {
    throw new Failure("usage", `--config: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

class FileReader {
  readonly values = new Map<string, FileValue>();
  readonly tunnels: TunnelEntry[] = [];
  readonly format: FileFormat;
  readonly #directory: string;
  readonly #issues: FileIssue[];

  constructor(path: string, text: string, issues: FileIssue[]) {
    this.#directory = dirname(resolve(path));
    this.#issues = issues;
    const { root, issues: own } = readSource(path, text);
    issues.push(...own);
    const entries = this.#entriesOf(root, "a file for an agent");
    const version = entries.find(({ key }) => key === "version");
    this.format = this.#formatOf(version);
    if (own.length > 0) return;
    const rest = entries.filter((entry) => !["version", "tunnels", "endpoints"].includes(entry.key));
    this.#readTop(rest);
    for (const { key, node } of entries) {
      if (key === "tunnels") this.#readTunnels(node);
      if (key === "endpoints") this.#readEndpoints(node);
    }
  }

  #formatOf(version: SourceEntry | undefined): FileFormat {
    if (!version) return "own";
    const text = version.node.value?.kind === "text" ? version.node.value.text : "";
    if (text === "2" || text === "3") return Number(text) as 2 | 3;
    this.#issue(version.node.place, `"version" must be 2 or 3, or absent in Postern's own format`);
    return "own";
  }

  /** In version 3 everything of the agent is below `agent:`. */
  #readTop(entries: readonly SourceEntry[]): void {
    if (this.format !== 3) return this.#readRows(entries, agentKeys[this.format], this.values, "");
    for (const { key, place, node } of entries) {
      if (key === "agent") this.#readRows(this.#entriesOf(node, '"agent"'), agentKeys[3], this.values, "");
      else
        this.#issue(
          place,
          `there is no key "${key}" here: version, agent, endpoints and tunnels are; ${belowAgent(key)}`,
        );
    }
  }

  #readTunnels(node: SourceNode): void {
    for (const { key, place, node: one } of this.#entriesOf(node, '"tunnels"')) {
      const values = new Map<string, FileValue>();
      this.#readRows(this.#entriesOf(one, `the tunnel "${key}"`), tunnelKeys, values, "");
      this.#add({ name: key, place, values });
    }
  }

  #readEndpoints(node: SourceNode): void {
    if (node.value === undefined) return;
    if (node.value.kind !== "list") return this.#issue(node.place, '"endpoints" must be a list');
    for (const item of node.value.items) {
      const values = new Map<string, FileValue>();
      this.#readRows(this.#entriesOf(item, "an endpoint"), endpointKeys, values, "");
      const name = values.get("name")?.texts[0];
      values.delete("name");
      if (name === undefined) this.#issue(item.place, 'the endpoint needs a "name", by which it is started');
      else this.#add({ name, place: item.place, values });
    }
  }

  #add(tunnel: TunnelEntry): void {
    if (this.tunnels.some(({ name }) => name === tunnel.name)) {
      this.#issue(tunnel.place, `there is another tunnel "${tunnel.name}" in this file: name one of them otherwise`);
    } else this.tunnels.push(tunnel);
  }

  #readRows(
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
        this.#readRows(this.#entriesOf(node, `"${path}"`), rows, values, `${path}.`);
      } else this.#issue(place, unknownKey(path, rows));
    }
  }

  #readRow(row: KeyRow, keyPlace: SourcePlace, node: SourceNode, values: Map<string, FileValue>): void {
    const { value, place } = node;
    if (row.setting === undefined) {
      const isFine = value === undefined || (value.kind === "text" && row.allowed?.includes(value.text));
      if (!isFine) this.#issue(keyPlace, `"${row.key}" is not offered: ${row.refused}`);
      return;
    }
    if (value === undefined) return;
    const texts = row.texts ? row.texts(node) : textsOf(node);
    if (!texts) return this.#issue(place, `"${row.key}" must be one value, or a list of them`);
    if (texts.length === 0) return;
    if (values.has(row.setting)) {
      return this.#issue(keyPlace, `"${row.key}" says what another key of the same entry says already: remove one`);
    }
    values.set(row.setting, {
      texts: row.isPath ? texts.map((text) => this.#pathOf(text)) : texts,
      key: row.key,
      place,
    });
  }

  #pathOf(text: string): string {
    return text === "system" || text === "" ? text : resolve(this.#directory, text);
  }

  #entriesOf(node: SourceNode, what: string): readonly SourceEntry[] {
    if (node.value === undefined) return [];
    if (node.value.kind === "map") return node.value.entries;
    this.#issue(node.place, `${what} must be a map: lines of "key: value"`);
    return [];
  }

  #issue(place: SourcePlace, message: string): void {
    this.#issues.push({ ...place, message });
  }
}

function textsOf({ value }: SourceNode): readonly string[] | undefined {
  if (value?.kind === "text") return [value.text];
  if (value?.kind !== "list") return undefined;
  const texts = value.items.flatMap((item) => (item.value?.kind === "text" ? [item.value.text] : []));
  return texts.length === value.items.length ? texts : undefined;
}

function unknownKey(path: string, rows: readonly KeyRow[]): string {
  const near = nearest(
    path,
    rows.map(({ key }) => key),
  );
  return `there is no key "${path}"${near === undefined ? ": remove it" : `: did you mean "${near}"?`}`;
}

function belowAgent(key: string): string {
  return agentKeys[3].some((row) => row.key === key) ? `write "${key}" below "agent:"` : "remove it";
}
