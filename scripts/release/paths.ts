/** Where a release is built, and what its artifacts are called. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every artifact is written here. Git ignores the folder `dist`. */
export const distFolder = resolve(root, process.env["POSTERN_RELEASE_FOLDER"] ?? "dist");

/** Intermediate files of a build: not part of the release. */
export const buildFolder = join(distFolder, "build");

/** Postern's version. `package.json` is the only file that states it. */
export const version = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;

/** Systems for which everything is built. Tests run the artifacts on the first one. */
export const linuxPlatforms = ["linux-x64", "linux-arm64"] as const;

/** Systems for which only executables are built. No test runs them. */
export const otherPlatforms = ["darwin-arm64", "darwin-x64", "win-x64"] as const;

export type LinuxPlatform = (typeof linuxPlatforms)[number];
export type Platform = LinuxPlatform | (typeof otherPlatforms)[number];

/** The single executable for `platform`, uncompressed. */
export function executablePath(platform: Platform): string {
  return join(distFolder, `postern-${version}-${platform}${platform.startsWith("win-") ? ".exe" : ""}`);
}

/** The commit that is released, 40 hexadecimal digits. */
export function commit(): string {
  return git("rev-parse", "HEAD");
}

/** Names the sources that are built: the commit, and changes that are not committed. */
export function sourceState(): string {
  const changes = git("status", "--porcelain") + git("diff", "HEAD");
  return changes === "" ? commit() : `${commit()} ${createHash("sha256").update(changes).digest("hex")}`;
}

/** Seconds since 1970 that every archive uses for its files: SOURCE_DATE_EPOCH, or the time of the commit. */
export function sourceDateEpoch(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  return Number(given ?? git("log", "-1", "--format=%ct"));
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 }).trim();
}
