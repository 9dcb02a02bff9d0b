/** Reads settings from files: the YAML file of `--config`, and files with one secret each. */
import { readFileSync } from "node:fs";
import { utf8Text } from "../../lib/utf8.ts";
import { findNearest } from "../../lib/nearest.ts";
import { keyOf } from "../../settings/setting.ts";
import type { Settings } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";

/** Maximum size of a settings or secret file, bytes. */
const maxFileBytes = 1_048_576;

/** Returns the secret in a file, without the line break at its end. */
export function readSecret(path: string, origin: string): string {
  return readText(path, origin).replace(/\r?\n$/, "");
}

function readText(path: string, origin: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > maxFileBytes) throw new Error(`the file is larger than ${maxFileBytes} bytes`);
    return utf8Text(bytes);
  } catch (error) {
    throw new Failure("usage", `${origin}: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Returns the keys of a settings file, each with its values as text. Throws `Failure` (usage) for an invalid file.
 * @param known settings of all commands; other keys are refused
 */
export async function readConfig(path: string, known: Settings): Promise<Map<string, string[]>> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(readText(path, "--config"), { prettyErrors: true, uniqueKeys: true });
  const fault = document.errors[0];
  if (fault) throw new Failure("usage", `--config: "${path}" is not valid YAML: ${fault.message.split("\n")[0]}`);
  const content: unknown = document.toJS({ maxAliasCount: 0 });
  if (content === null || content === undefined) return new Map();
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new Failure("usage", `--config: "${path}" must hold settings as "key: value" lines`);
  }
  const keys = new Map<string, boolean>();
  for (const [name, setting] of Object.entries(known)) {
    if (name === "config") continue;
    keys.set(keyOf(name), setting.many === true);
    if (setting.secret) keys.set(`${keyOf(name)}_file`, false);
  }
  const file = new Map<string, string[]>();
  for (const [key, value] of Object.entries(content as Record<string, unknown>)) {
    const many = keys.get(key);
    if (many === undefined) {
      const near = findNearest(key, keys.keys());
      throw new Failure(
        "usage",
        `"${path}" has the unknown setting "${key}"${near ? `: did you mean "${near}"?` : ""}`,
      );
    }
    if (value === null) continue;
    const values: unknown[] = many && Array.isArray(value) ? value : [value];
    if (values.some((one) => !["string", "number", "boolean"].includes(typeof one))) {
      throw new Failure("usage", `"${path}": ${key} must be ${many ? "a list of texts" : "one value"}`);
    }
    file.set(key, values.map(String));
  }
  return file;
}
