/** Reads agent files: detects the format of each and merges their settings. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Failure } from "../process/exit.ts";
import { findNearest } from "../../lib/nearest.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { utf8Text } from "../../lib/utf8.ts";
import { agentKeys, endpointKeys, nameKey, ownOnly, tunnelKeys, vendorOnly } from "./agent-file-keys.ts";
import { RowReader } from "./row-reader.ts";
import type { FileValue } from "./row-reader.ts";
import { readSource } from "./source.ts";
import type { FileIssue, SourceEntry, SourceNode, SourcePlace } from "./source.ts";

/** One entry of `tunnels:` or `endpoints:`; settings by name. */
export interface TunnelEntry {
  readonly name: string;
  readonly place: SourcePlace;
  readonly values: ReadonlyMap<string, FileValue>;
}

/** Versions 2 and 3 are the vendor's. A file without a version has the format that its keys imply. */
export type FileFormat = "own" | 2 | 3;

export interface AgentFiles {
  readonly formats: readonly (readonly [path: string, format: FileFormat])[];
  /** Settings of the agent itself, by name. */
  readonly values: ReadonlyMap<string, FileValue>;
  readonly tunnels: readonly TunnelEntry[];
  readonly issues: readonly FileIssue[];
  /** Keys that can be ignored safely. */
  readonly warnings: readonly FileIssue[];
}

/** Maximum size of a file, bytes. */
const maxFileBytes = 1_048_576;

/** Reads the files. If several set the same key, the last one wins. Throws `Failure` (usage) for an unreadable file. */
export function readAgentFiles(paths: readonly string[]): AgentFiles {
  const values = new Map<string, FileValue>();
  const tunnels = new Map<string, TunnelEntry>();
  const issues: FileIssue[] = [];
  const warnings: FileIssue[] = [];
  const formats = paths.map((path) => {
    const file = new FileReader(path, readText(path), issues, warnings);
    for (const [name, value] of file.values) values.set(name, value);
    for (const tunnel of file.tunnels) {
      const before = tunnels.get(tunnel.name)?.values ?? [];
      tunnels.set(tunnel.name, { ...tunnel, values: new Map([...before, ...tunnel.values]) });
    }
    return [path, file.format] as const;
  });
  return { formats, values, tunnels: [...tunnels.values()], issues, warnings };
}

export function renderIssue({ path, line, column, message }: FileIssue): string {
  return toVisibleLine(`${path}:${line}:${column}: ${message}`);
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > maxFileBytes) throw new Error(`the file is larger than ${maxFileBytes} bytes`);
    return utf8Text(bytes);
  } catch (error) {
    throw new Failure("usage", `--config: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Reads one entry that contains its own name. `issues` lists its errors. The entry must not name files, because its
 * author and the person who runs the agent may differ.
 */
export function readEntry(node: SourceNode, form: "tunnel" | "endpoint", issues: FileIssue[]): TunnelEntry | undefined {
  const values = new Map<string, FileValue>();
  const rows = new RowReader(undefined, issues, []);
  const known = form === "endpoint" ? endpointKeys : [...tunnelKeys, nameKey];
  rows.readRows(rows.entriesOf(node, `the ${form}`), known, values, "");
  const name = values.get("name")?.texts[0] ?? "";
  values.delete("name");
  if (name !== "") return { name, place: node.place, values };
  issues.push({ ...node.place, message: `the ${form} needs a "name"` });
  return undefined;
}

class FileReader {
  readonly values = new Map<string, FileValue>();
  readonly tunnels: TunnelEntry[] = [];
  readonly format: FileFormat;
  readonly #rows: RowReader;

  constructor(path: string, text: string, issues: FileIssue[], warnings: FileIssue[]) {
    this.#rows = new RowReader(dirname(resolve(path)), issues, warnings);
    const { root, issues: own } = readSource(path, text);
    issues.push(...own);
    const entries = this.#rows.entriesOf(root, "a file for an agent");
    const version = entries.find(({ key }) => key === "version");
    this.format = version ? this.#formatOf(version) : inferFormat(entries);
    if (own.length > 0) return;
    const rest = entries.filter((entry) => !["version", "tunnels", "endpoints"].includes(entry.key));
    this.#readTop(rest);
    for (const { key, node } of entries) {
      if (key === "tunnels") this.#readTunnels(node);
      if (key === "endpoints") this.#readEndpoints(node);
    }
  }

  #formatOf(version: SourceEntry): FileFormat {
    const text = version.node.value?.kind === "text" ? version.node.value.text : "";
    if (text === "2" || text === "3") return Number(text) as 2 | 3;
    this.#rows.issue(version.node.place, `"version" must be 2 or 3, or absent in Postern's own format`);
    return "own";
  }

  /** In version 3, all settings of the agent are below `agent:`. */
  #readTop(entries: readonly SourceEntry[]): void {
    if (this.format !== 3) return this.#rows.readRows(entries, agentKeys[this.format], this.values, "");
    for (const { key, place, node } of entries) {
      if (key === "agent") this.#rows.readRows(this.#rows.entriesOf(node, '"agent"'), agentKeys[3], this.values, "");
      else this.#rows.issue(place, stripAgentPrefix(key));
    }
  }

  #readTunnels(node: SourceNode): void {
    for (const { key, place, node: one } of this.#rows.entriesOf(node, '"tunnels"')) {
      const values = new Map<string, FileValue>();
      this.#rows.readRows(this.#rows.entriesOf(one, `the tunnel "${key}"`), tunnelKeys, values, "");
      this.#add({ name: key, place, values });
    }
  }

  #readEndpoints(node: SourceNode): void {
    if (node.value === undefined) return;
    if (node.value.kind !== "list") return this.#rows.issue(node.place, '"endpoints" must be a list');
    for (const item of node.value.items) {
      const values = new Map<string, FileValue>();
      this.#rows.readRows(this.#rows.entriesOf(item, "an endpoint"), endpointKeys, values, "");
      const name = values.get("name")?.texts[0];
      values.delete("name");
      if (name === undefined) this.#rows.issue(item.place, 'the endpoint needs a "name", so that it can be started');
      else this.#add({ name, place: item.place, values });
    }
  }

  #add(tunnel: TunnelEntry): void {
    if (this.tunnels.some(({ name }) => name === tunnel.name)) {
      this.#rows.issue(tunnel.place, `this file has another tunnel "${tunnel.name}": rename one of them`);
    } else this.tunnels.push(tunnel);
  }
}

/**
 * Returns the format of a file without a version. Postern's own keys decide first, then keys that only the vendor's
 * files have.
 */
function inferFormat(entries: readonly SourceEntry[]): FileFormat {
  const keys = new Set(entries.map(({ key }) => key));
  if (keys.has("agent")) return 3;
  return keys.isDisjointFrom(ownOnly) && !keys.isDisjointFrom(vendorOnly) ? 2 : "own";
}

function stripAgentPrefix(key: string): string {
  const top = ["version", "agent", "endpoints", "tunnels"];
  const near = findNearest(key, top);
  const advice = agentKeys[3].some((row) => row.key === key)
    ? `write "${key}" under "agent:"`
    : near === undefined
      ? "remove it"
      : `did you mean "${near}"?`;
  return `unknown key "${key}", use one of ${top.join(", ")}; ${advice}`;
}
