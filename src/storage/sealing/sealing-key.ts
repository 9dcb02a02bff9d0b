import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sealingKeyBytes } from "./sealing.ts";

const fileName = "sealing-key";

/**
 * Returns the operator's keys, newest first, from `given` (the environment), or from the file `sealing-key` in the data
 * directory. The file is created on first use with mode 0600. Each key is 32 bytes in base64, one per line. The first
 * key seals, the others only open.
 * @throws Error if other users can read the file (P8), or if it contains anything else
 */
export function loadSealingKey(dataDirectory: string, text?: string): readonly Buffer[] {
  return (
    findSealingKey(dataDirectory, text) ??
    parseKeys(createKeyFile(join(dataDirectory, fileName)), `"${join(dataDirectory, fileName)}"`)
  );
}

/** Same as `loadSealingKey`, but returns undefined instead of creating a key. */
export function findSealingKey(dataDirectory: string, given?: string): readonly Buffer[] | undefined {
  if (given !== undefined) return parseKeys(given, "the given sealing key");
  const file = join(dataDirectory, fileName);
  const text = readKeyFile(file);
  return text === undefined ? undefined : parseKeys(text, `"${file}"`);
}

function readKeyFile(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`read sealing key: "${file}" cannot be opened`, { cause: error });
  }
  try {
    const mode = fstatSync(descriptor).mode & 0o777;
    // Windows has no such modes: access lists of the directory decide there.
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw new Error(
        `read sealing key: "${file}" has mode ${mode.toString(8).padStart(4, "0")}, so other users can read it; run \`chmod 600 ${file}\`, and rotate the key if others may have read it`,
      );
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function createKeyFile(file: string): string {
  const text = `${randomBytes(sealingKeyBytes).toString("base64")}\n`;
  const descriptor = openSync(file, "wx", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return text;
}

function parseKeys(text: string, where: string): readonly Buffer[] {
  const lines = text.split(/\s+/).filter((line) => line !== "");
  const keys = lines.map((line) => Buffer.from(line, "base64"));
  if (keys.length === 0 || keys.some((key) => key.length !== sealingKeyBytes)) {
    throw new Error(`read sealing key: ${where} must hold ${sealingKeyBytes} bytes in base64 per line`);
  }
  return keys;
}
