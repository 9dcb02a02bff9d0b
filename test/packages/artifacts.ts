/** The artifacts that `npm run release` built, and empty places to install them in. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The path of an artifact. @throws if it was not built */
export function built(path: string): string {
  if (!existsSync(path)) throw new Error(`find "${path}": run \`npm run release\` first`);
  return path;
}

/** A new folder with an empty home and an empty working directory. */
export function emptyPlace(): { readonly folder: string; readonly home: string; readonly cwd: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "postern-package-")));
  const [home, cwd] = [join(folder, "home"), join(folder, "work")];
  mkdirSync(home);
  mkdirSync(cwd);
  return { folder, home, cwd };
}

/** What a program prints. */
export function output(
  program: string,
  words: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  return execFileSync(program, words, { encoding: "utf8", maxBuffer: 2 ** 26, ...options });
}
