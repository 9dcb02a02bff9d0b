/** Where a release is built, and what its artifacts are called. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every artifact is written here. Git ignores the folder. */
export const distFolder = join(root, "dist");

/** Intermediate files of a build: not part of the release. */
export const buildFolder = join(distFolder, "build");

/** Postern's version. `package.json` is the only file that states it. */
export const version = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;

/** Systems for which a single executable is built and tested. */
export type Platform = "linux-x64" | "linux-arm64";

/** The single executable for `platform`, uncompressed. */
export function executablePath(platform: Platform): string {
  return join(distFolder, `postern-${version}-${platform}`);
}

/** The commit that is released, 40 hexadecimal digits. */
export function commit(): string {
  return git("rev-parse", "HEAD");
}

/** Seconds since 1970 that every archive uses for its files: SOURCE_DATE_EPOCH, or the time of the commit. */
export function sourceDateEpoch(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  return Number(given ?? git("log", "-1", "--format=%ct"));
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}
