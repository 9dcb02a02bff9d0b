import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { holdThreadPrograms } from "../../../lib/thread-programs.ts";

/** Lists the files that threads load; stored beside the bundled programs. See `scripts/bundle.ts`. */
const listName = "threads.json";

/**
 * Keeps the programs of all threads open if this process runs from a bundle. Source files are read again at each start.
 */
export function holdBundledThreads(): void {
  const directory = dirname(fileURLToPath(import.meta.url));
  const list = join(directory, listName);
  if (!existsSync(list)) return;
  const files = JSON.parse(readFileSync(list, "utf8")) as readonly string[];
  holdThreadPrograms(files.map((file) => pathToFileURL(join(directory, file))));
}

/**
 * Leaves a deleted working directory, in which Node starts no threads. Only the main thread may change the directory.
 */
export function leaveRemovedDirectory(): void {
  if (statSync(".").nlink === 0) process.chdir("/");
}
