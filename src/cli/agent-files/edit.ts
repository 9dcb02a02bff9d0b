/** Edits agent files and preserves comments, order and format. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { isCollection, isMap, isPair, isScalar, parseDocument } from "yaml";
import { Failure } from "../process/exit.ts";
import type { FileFormat } from "./read-agent-files.ts";

/** Stored keys of a server. */
export type StoredKey = "server" | "ca" | "authtoken";

/** Name of each key by format. */
const keysOf: Readonly<Record<FileFormat, Readonly<Record<StoredKey, readonly string[]>>>> = {
  own: { server: ["server"], ca: ["ca"], authtoken: ["authtoken"] },
  2: { server: ["server_addr"], ca: ["root_cas"], authtoken: ["authtoken"] },
  3: { server: ["agent", "connect_url"], ca: ["agent", "connect_cas"], authtoken: ["agent", "authtoken"] },
};

/** Returns `text` with the value set. An existing value is replaced in place. Throws `Error` if `text` is not a map. */
export function withKey(text: string, format: FileFormat, key: StoredKey, value: string): string {
  const path = keysOf[format][key];
  const written = /^[A-Za-z0-9_][\w./:@-]*$/.test(value) && !/^\d+$/.test(value) ? value : JSON.stringify(value);
  const document = parseDocument(text);
  const fault = document.errors[0];
  if (fault) throw new Error(`is not valid YAML: ${fault.message.split("\n")[0]}`);
  const node: unknown = document.getIn(path, true);
  if (isScalar(node) && node.range && node.source !== undefined) {
    return `${text.slice(0, node.range[0])}${written}${text.slice(node.range[1])}`;
  }
  if (document.contents !== null && !isMap(document.contents)) throw new Error("must be a map of keys and values");
  const [first = "", second] = path;
  if (isMap(document.contents) && document.contents.flow) {
    document.setIn(path, value);
    return document.toString();
  }
  if (second === undefined) return `${endLine(text)}${first}: ${written}\n`;
  const holder: unknown = document.get(first, true);
  if (isMap(holder) && !holder.flow && holder.range) {
    const start = holder.range[0];
    const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
    return `${text.slice(0, start)}${second}: ${written}\n${indent}${text.slice(start)}`;
  }
  if (isCollection(holder) || isPair(holder)) {
    document.setIn(path, value);
    return document.toString();
  }
  return `${endLine(text)}${first}:\n  ${second}: ${written}\n`;
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/**
 * Replaces the file atomically, readable by its owner only. A crash leaves the old or the new content. A link is
 * preserved. Throws `Failure` (usage) if the file cannot be written.
 */
export function writeAgentFile(path: string, text: string): void {
  const target = existsSync(path) ? realpathSync(path) : path;
  const draft = `${target}.new`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    rmSync(draft, { force: true });
    writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
    chmodSync(draft, 0o600);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new Failure("usage", `cannot write "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/** Returns the file's text, "" if it does not exist. Throws `Failure` (usage). */
export function readAgentText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new Failure("usage", `cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}
