/** Files that Postern ships: in the checkout, in the npm package, or inside the single executable. */
import { readFileSync, readdirSync } from "node:fs";

/** The folder that contains `package.json`. */
const home = new URL("../../../package.json", import.meta.url);

/** Node's module for single executables; loaded through the process because few programs need it. */
const executable = process.getBuiltinModule("node:sea");

/** Whether this process runs from the single executable. */
export const isExecutable = executable.isSea();

/** Reads a file that Postern ships. @param path relative to `package.json`, with slashes */
export function readOwnFile(path: string): Buffer {
  return isExecutable ? Buffer.from(executable.getRawAsset(path)) : readFileSync(new URL(path, home));
}

/** Names of the files directly in `folder`, a path relative to `package.json` that ends in a slash. */
export function listOwnFiles(folder: string): readonly string[] {
  if (!isExecutable) return readdirSync(new URL(folder, home));
  return executable.getAssetKeys().flatMap((path) => (path.startsWith(folder) ? [path.slice(folder.length)] : []));
}
