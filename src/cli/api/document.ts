/** A document of many objects from a file, with what it refers to filled in. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import { Failure } from "../process/exit.ts";

/** Largest file that is read, bytes. */
const maxBytes = 4_194_304;

/**
 * Reads `file`, or standard input for `-`: YAML, of which JSON is a part. `{ $env: NAME }` and `{ $file: PATH }`
 * stand for a variable's value and a file's content, so that secrets need not be in it.
 * @throws Failure for what cannot be read
 */
export function readDocumentFile(file: string, env: NodeJS.ProcessEnv): JsonObject {
  const isStandardInput = file === "-";
  const directory = isStandardInput ? "." : dirname(file);
  const bytes = readBytes(isStandardInput ? 0 : file, file);
  try {
    const document = file.endsWith(".json") ? parseJsonObject(bytes) : parseYamlObject(bytes.toString("utf8"));
    return fill(document, directory, env) as JsonObject;
  } catch (error) {
    if (error instanceof JsonIssue) throw new Failure("usage", `${file} ${error.message}`);
    throw error;
  }
}

function fill(value: unknown, directory: string, env: NodeJS.ProcessEnv): unknown {
  if (Array.isArray(value)) return value.map((item) => fill(item, directory, env));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only && typeof only[1] === "string") {
    const [name, text] = only as [string, string];
    if (name === "$file") return readBytes(resolve(directory, text), text).toString("utf8");
    if (name === "$env") {
      const found = env[text];
      if (found === undefined) throw new Failure("usage", `the document needs the variable ${text}, which is not set`);
      return found;
    }
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, fill(inner, directory, env)]));
}

function readBytes(from: string | number, name: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(from);
  } catch (error) {
    throw new Failure("usage", `cannot read "${name}": ${(error as NodeJS.ErrnoException).code ?? String(error)}`, {
      cause: error,
    });
  }
  if (bytes.length > maxBytes) throw new Failure("usage", `cannot read "${name}": it is larger than ${maxBytes} bytes`);
  return bytes;
}
