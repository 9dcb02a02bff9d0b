/** A document of many objects from a file, with what it refers to filled in. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import { utf8Text } from "../../lib/utf8.ts";
import { named } from "../../settings/kinds/text.ts";
import { flagOnly, many } from "../../settings/setting.ts";
import { Failure, readingOf } from "../process/exit.ts";

/** Largest file that is read, bytes. */
const maxBytes = 4_194_304;

export const documentEnv = flagOnly(
  many(
    "Environment variable that the document may read with { $env: NAME }; repeatable. Other variables are rejected.",
    named("NAME"),
    {
      flag: "env",
    },
  ),
);

/** What a document may refer to. */
interface Reach {
  /** As messages show it. */
  readonly file: string;
  /** Undefined for standard input, which has no folder. */
  readonly folder: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Names that the caller gave. */
  readonly variables: readonly string[];
}

/**
 * Reads `file`, or standard input for `-`: YAML, of which JSON is a part. `{ $env: NAME }` and `{ $file: PATH }` stand for
 * the value of a variable that the caller named, and for a file in the document's folder: the document need not be the
 * caller's own work, and what it refers to is sent to the server.
 * @throws Failure for what cannot be read
 */
export function readDocumentFile(file: string, env: NodeJS.ProcessEnv, variables: readonly string[]): JsonObject {
  const isStandardInput = file === "-";
  const bytes = readBytes(isStandardInput ? 0 : file, file);
  const text = readingOf(`cannot read "${file}":`, () => utf8Text(bytes));
  const folder = isStandardInput ? undefined : realpathSync(dirname(resolve(file)));
  try {
    const document = file.endsWith(".json") ? parseJsonObject(bytes) : parseYamlObject(text);
    return fill(document, { file, folder, env, variables }) as JsonObject;
  } catch (error) {
    if (error instanceof JsonIssue) throw new Failure("usage", `${file} ${error.message}`);
    throw error;
  }
}

function fill(value: unknown, reach: Reach): unknown {
  if (Array.isArray(value)) return value.map((item) => fill(item, reach));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only && typeof only[1] === "string") {
    const [name, text] = only as [string, string];
    if (name === "$file") {
      const bytes = readBytes(withinFolder(text, reach), text);
      return readingOf(`cannot read "${text}":`, () => utf8Text(bytes));
    }
    if (name === "$env") return variable(text, reach);
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, fill(inner, reach)]));
}

function variable(name: string, { file, env, variables }: Reach): string {
  if (!variables.includes(name)) {
    throw new Failure("usage", `"${file}" reads the variable ${name}: allow it with --env ${name}`);
  }
  const found = env[name];
  if (found === undefined) throw new Failure("usage", `"${file}" reads the variable ${name}, which is not set`);
  return found;
}

/** The path of a regular file in the document's folder, with links followed. Throws `Failure` (usage). */
function withinFolder(path: string, { file, folder }: Reach): string {
  if (folder === undefined) {
    throw new Failure(
      "usage",
      `the document reads the file "${path}", but a document from standard input has no folder: save the document to a file next to it`,
    );
  }
  let found: string;
  try {
    found = realpathSync(resolve(folder, path));
  } catch (error) {
    throw unreadable(path, error);
  }
  if (!found.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)) {
    throw new Failure(
      "usage",
      `"${file}" reads "${path}", which is outside the document's folder: move the file into "${folder}"`,
    );
  }
  if (!statSync(found).isFile()) throw new Failure("usage", `"${file}" reads "${path}", which is not a regular file`);
  return found;
}

function unreadable(name: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return new Failure("usage", `cannot read "${name}": ${code}`, { cause: error });
}

function readBytes(from: string | number, name: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(from);
  } catch (error) {
    throw unreadable(name, error);
  }
  if (bytes.length > maxBytes) throw new Failure("usage", `cannot read "${name}": it is larger than ${maxBytes} bytes`);
  return bytes;
}
