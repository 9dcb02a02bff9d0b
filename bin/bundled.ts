/**
 * Finds what `scripts/bundle.ts` has made: a program of the checkout in a few files, which load several times faster
 * than the hundreds of its sources.
 */
// Taken, not imported: see launch.js.
const { readFileSync, statSync } = process.getBuiltinModule("node:fs");
const { join } = process.getBuiltinModule("node:path");
const { fileURLToPath, pathToFileURL } = process.getBuiltinModule("node:url");

const root = fileURLToPath(new URL("..", import.meta.url));
/** Where bundles are: with the packages, of which some are in them. */
export const bundles = join(root, "node_modules", ".cache", "postern");

/** What a bundle is made of, as the file system says of it. */
export type Input = readonly [path: string, size: number, modifiedMs: number];

export interface Bundle {
  /** Program → its file below `bundles`. */
  readonly programs: Readonly<Record<string, string>>;
  readonly inputs: readonly Input[];
}

/**
 * The URL to import for `program`, a path in the checkout such as "src/main.ts": of the bundle if that was made of the
 * sources as they are now, else of the source itself.
 */
export function urlOf(program: string): string {
  const bundled = freshBundle()?.programs[program];
  return pathToFileURL(bundled === undefined ? join(root, program) : join(bundles, bundled)).href;
}

/** What was bundled last; undefined when a source has changed since. */
export function freshBundle(): Bundle | undefined {
  let bundle: Bundle;
  try {
    bundle = JSON.parse(readFileSync(join(bundles, "index.json"), "utf8")) as Bundle;
  } catch {
    return undefined;
  }
  for (const [path, size, modifiedMs] of bundle.inputs) {
    const found = statSync(root + path, { throwIfNoEntry: false });
    if (found?.size !== size || found.mtimeMs !== modifiedMs) return undefined;
  }
  return bundle;
}
