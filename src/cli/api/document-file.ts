/** Reads a document of several objects from a file and resolves its references. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import { utf8Text } from "../../lib/utf8.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, many, optional } from "../../settings/setting.ts";
import { Failure, failOnError } from "../process/exit.ts";

/** Maximum size of a file, bytes. */
const maxBytes = 4_194_304;

export const documentEnv = flagOnly(
  many(
    "Environment variable that the document may read with { $env: NAME }; repeatable. Other variables are rejected.",
    namedText("NAME"),
    {
      flag: "env",
    },
  ),
);

export const documentEnvFile = flagOnly(
  optional(
    "File of NAME=VALUE lines. The document may read all of these variables with { $env: NAME }.",
    namedText("FILE"),
  ),
);

/** Variables that a document may reference. */
export interface DocumentVariables {
  /** Variable names that the caller allowed. */
  readonly allowed: readonly string[];
  /** Path of a file whose variables override the environment. */
  readonly file: string | undefined;
}

/** A variable without a value that the document needs. */
interface MissingVariable {
  readonly path: string;
  readonly name: string;
  readonly isAllowed: boolean;
}

/** Files and variables that a document may reference. */
interface Reach {
  /** File name as shown in messages. */
  readonly file: string;
  /** Folder of the file; undefined for standard input. */
  readonly folder: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Variable names that the caller allowed. */
  readonly variables: readonly string[];
  readonly missing: MissingVariable[];
}

/**
 * Reads `file`, or standard input for `-`, as YAML, which includes JSON. `{ $env: NAME }` is the value of a variable
 * that the caller allowed. `{ $file: PATH }` is the content of a file in the document's folder. `{ $json: VALUE }` is
 * the text of a JSON value. References are limited because the document may come from someone else, and their values
 * are sent to the server.
 * @throws Failure for an unreadable document
 */
export function readDocumentFile(
  file: string,
  env: NodeJS.ProcessEnv,
  { allowed, file: envFile }: DocumentVariables,
): JsonObject {
  const own = envFile === undefined ? {} : parseEnv(readText(envFile));
  const isStandardInput = file === "-";
  const bytes = readBytes(isStandardInput ? 0 : file, file);
  const text = failOnError(`cannot read "${file}":`, () => utf8Text(bytes));
  const folder = isStandardInput ? undefined : realpathSync(dirname(resolve(file)));
  try {
    const document = file.endsWith(".json") ? parseJsonObject(bytes) : parseYamlObject(text);
    const missing: MissingVariable[] = [];
    const variables = [...allowed, ...Object.keys(own)];
    // Files for `--env-file` may contain empty values to fill in.
    const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ""));
    const filled = fillVariables(document, "", {
      file,
      folder,
      env: { ...env, ...set },
      variables,
      missing,
    }) as JsonObject;
    if (missing.length > 0) throw failMissingVariables(file, missing);
    return filled;
  } catch (error) {
    if (error instanceof JsonIssue) throw new Failure("usage", `${file} ${error.message}`);
    throw error;
  }
}

function fillVariables(value: unknown, path: string, reach: Reach): unknown {
  if (Array.isArray(value)) return value.map((item, index) => fillVariables(item, `${path}[${index}]`, reach));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only) {
    const [name, inner] = only;
    if (name === "$json") return JSON.stringify(fillVariables(inner, path, reach));
    if (name === "$file" && typeof inner === "string") {
      const bytes = readBytes(resolveInFolder(inner, reach), inner);
      return failOnError(`cannot read "${inner}":`, () => utf8Text(bytes));
    }
    if (name === "$env" && typeof inner === "string") return readVariable(inner, path, reach);
  }
  return Object.fromEntries(
    entries.map(([name, inner]) => [name, fillVariables(inner, path === "" ? name : `${path}.${name}`, reach)]),
  );
}

function readVariable(name: string, path: string, { env, variables, missing }: Reach): string {
  const isAllowed = variables.includes(name);
  const found = isAllowed ? env[name] : undefined;
  if (found === undefined) missing.push({ path, name, isAllowed });
  return found ?? "";
}

function failMissingVariables(file: string, missing: readonly MissingVariable[]): Failure {
  const [first, ...more] = missing as readonly [MissingVariable, ...MissingVariable[]];
  if (more.length > 0) {
    const lines = missing.map(({ path, name, isAllowed }) => {
      const fix = isAllowed ? `${name} is not set` : `set ${name}, and allow it with --env ${name}`;
      return `\n  ${toVisibleLine(`${path}: ${fix}`)}`;
    });
    return new Failure("usage", `"${file}" reads ${missing.length} variables that have no value:${lines.join("")}`);
  }
  const sentence = first.isAllowed
    ? `"${file}" reads the variable ${first.name}, which is not set`
    : `"${file}" reads the variable ${first.name}: allow it with --env ${first.name}`;
  return new Failure("usage", toVisibleLine(sentence));
}

/** Returns the path of a regular file in the document's folder, with links resolved. Throws `Failure` (usage). */
function resolveInFolder(path: string, { file, folder }: Reach): string {
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
    throw failUnreadable(path, error);
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

function readText(path: string): string {
  return failOnError(`cannot read "${path}":`, () => utf8Text(readBytes(path, path)));
}

function failUnreadable(name: string, error: unknown): Failure {
  return new Failure("usage", `cannot read "${name}": ${(error as Error).message}`, { cause: error });
}

function readBytes(from: string | number, name: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(from);
  } catch (error) {
    throw failUnreadable(name, error);
  }
  if (bytes.length > maxBytes) throw new Failure("usage", `cannot read "${name}": it is larger than ${maxBytes} bytes`);
  return bytes;
}
