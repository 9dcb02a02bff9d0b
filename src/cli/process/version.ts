import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readOwnFile } from "../../lib/io/own-file.ts";

interface Manifest {
  readonly version: string;
  /** Written to the manifest of a release. */
  readonly commit?: string;
}

let kept: Manifest | undefined;

/** Postern's version in package.json. */
export function posternVersion(): string {
  return readManifest().version;
}

/** Returns the program's name as users type it: through npm in a checkout, or the installed name. */
export function programName(): string {
  return readManifest().commit === undefined ? "npx postern" : "postern";
}

/** Returns the commit of this build, or undefined if unknown. */
export function posternCommit(): string | undefined {
  const { commit } = readManifest();
  if (commit !== undefined) return commit;
  const git = new URL("../../../.git", import.meta.url);
  if (!existsSync(git)) return undefined;
  try {
    const cwd = fileURLToPath(new URL(".", git));
    return execFileSync("git", ["rev-parse", "HEAD"], { cwd, stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return undefined;
  }
}

/** Cached at the first call, because files of a running process may be replaced. */
function readManifest(): Manifest {
  return (kept ??= JSON.parse(readOwnFile("package.json").toString()) as Manifest);
}
