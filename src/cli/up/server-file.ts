/** The configuration file of a server that `postern up` sets up. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../process/exit.ts";

/** Values by key, in order. */
export type ServerFileValues = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export function renderServerFile(values: ServerFileValues): string {
  const lines = Object.entries(values).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return [
    "# Settings of `postern serve`, written by `postern up`. All settings: postern serve --help",
    "# Restart the server after a change.",
    "",
    ...lines,
    "",
  ].join("\n");
}

/**
 * Writes the file unless it has this content already.
 *
 * @param force whether to replace a file with other content
 * @throws Failure (usage) if such a file exists, or it cannot be written
 */
export function writeServerFile(path: string, content: string, force: boolean): "written" | "unchanged" {
  const present = readIfPresent(path);
  if (present === content) return "unchanged";
  if (present !== undefined && !force) {
    throw new Failure(
      "usage",
      `"${path}" exists with other settings: compare it with the settings below, then run the command with --force to replace it\n\n${content}`,
    );
  }
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o644 });
  } catch (error) {
    throw new Failure("usage", `cannot write "${path}": ${(error as Error).message}`, { cause: error });
  }
  return "written";
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Failure("usage", `cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}
