import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { holdThreadPrograms } from "../../../lib/thread-programs.ts";

/** Beside the bundled programs: the files that threads load. See `scripts/bundle.ts`. */
const listName = "threads.json";

/** Holds the programs of all threads open when this process runs from a bundle. Sources are read anew at each start. */
export function holdBundledThreads(): void {
  const directory = dirname(fileURLToPath(import.meta.url));
  const list = join(directory, listName);
  if (!existsSync(list)) return;
  const files = JSON.parse(readFileSync(list, "utf8")) as readonly string[];
  holdThreadPrograms(files.map((file) => pathToFileURL(join(directory, file))));
}

/** Leaves a working directory that was removed: Node starts no thread there. Only the main thread may change it. */
export function leaveRemovedDirectory(): void {
  if (statSync(".").nlink === 0) process.chdir("/");
}
