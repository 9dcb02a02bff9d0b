/** A queue of test files in a shared directory. Several processes take files from it, each file once. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface TestQueue {
  /** Takes the next file. */
  take(): string | undefined;
  /** Records that the file was run to its end. */
  done(file: string): void;
  /** Returns the files that were taken but not finished, because their process ended. */
  unfinished(): string[];
}

/**
 * Creates the queue in an empty directory.
 * @param files in the order in which they are taken
 */
export function makeQueue(directory: string, files: readonly string[]): TestQueue {
  writeFileSync(join(directory, "files.json"), JSON.stringify(files));
  return openQueue(directory);
}

export function openQueue(directory: string): TestQueue {
  const files = JSON.parse(readFileSync(join(directory, "files.json"), "utf8")) as string[];
  const at = (index: number, state: string): string => join(directory, `${index}.${state}`);
  let next = 0;
  return {
    take() {
      for (; next < files.length; next += 1) {
        try {
          // Only one process succeeds.
          mkdirSync(at(next, "taken"));
          return files[next];
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        }
      }
      return undefined;
    },
    done: (file) => mkdirSync(at(files.indexOf(file), "done")),
    unfinished: () => files.filter((_, index) => !existsSync(at(index, "done"))),
  };
}
