/** Folders of a release, and names of its artifacts. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Folder of all artifacts. Git ignores the folder `dist`. */
export const distFolder = resolve(root, process.env["POSTERN_RELEASE_FOLDER"] ?? "dist");

/** Folder of intermediate files, which are not part of the release. */
export const buildFolder = join(distFolder, "build");

/** Postern's version. `package.json` is the only file that states it. */
export const version = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;

/** Systems for which all artifacts are built. Tests run the artifacts on the first one. */
export const linuxPlatforms = ["linux-x64", "linux-arm64"] as const;

/** Systems for which only executables are built. No test runs them. */
export const otherPlatforms = ["darwin-arm64", "darwin-x64", "win-x64"] as const;

export type LinuxPlatform = (typeof linuxPlatforms)[number];
export type Platform = LinuxPlatform | (typeof otherPlatforms)[number];

/** Returns the path of the uncompressed executable for `platform`. */
export function executablePath(platform: Platform): string {
  return join(distFolder, `postern-${version}-${platform}${platform.startsWith("win-") ? ".exe" : ""}`);
}

/** Returns the commit that is released, 40 hexadecimal digits. */
export function readCommit(): string {
  return runGit("rev-parse", "HEAD");
}

/** Identifies the sources of a build: the commit and uncommitted changes. */
export function sourceState(): string {
  const changes = runGit("status", "--porcelain") + runGit("diff", "HEAD");
  return changes === "" ? readCommit() : `${readCommit()} ${createHash("sha256").update(changes).digest("hex")}`;
}

/** Returns the time of all archived files, seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit. */
export function sourceDateEpoch(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  return Number(given ?? runGit("log", "-1", "--format=%ct"));
}

function runGit(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 }).trim();
}
