/** Checksums of the artifacts, and the notes of a release. */
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { distFolder, root, version } from "./paths.ts";

/**
 * Writes `SHA256SUMS`, in the format of `sha256sum`.
 * @returns its path
 */
export function writeChecksums(artifacts: readonly string[]): string {
  const lines = artifacts.map((path) => `${hashFile(path)}  ${basename(path)}\n`).sort();
  const path = join(distFolder, "SHA256SUMS");
  writeFileSync(path, lines.join(""));
  return path;
}

/**
 * Writes the release notes: the version's section of the changelog, and the artifacts.
 * @returns their path
 */
export function writeNotes(artifacts: readonly string[]): string {
  const rows = artifacts.map((path) => `| \`${basename(path)}\` | ${formatMegabytes(path)} MB |`);
  const text = `# Postern ${version}

${changesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version)}

## Artifacts

| File | Size |
| --- | --- |
${rows.join("\n")}

Verify a download: \`sha256sum --check --ignore-missing SHA256SUMS\`.

Tests install and run the npm package, the linux-x64 executable, the amd64 package and the amd64 image. Tests start the
linux-arm64 executable in an emulator where one is installed. **The executables for macOS and Windows are built the same
way, but no test runs them.** On macOS, sign the executable before the first start: \`codesign --sign - postern\`.
`;
  const path = join(distFolder, "RELEASE-NOTES.md");
  writeFileSync(path, text);
  return path;
}

/**
 * Returns the section of a version, without its heading.
 * @throws if the version has no section
 */
export function changesOf(changelog: string, wanted: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => /^\[?([^\s,\]]+)/.exec(section)?.[1] === wanted);
  if (found === undefined)
    throw new Error(`CHANGELOG.md has no section for ${wanted}: add one that starts "## ${wanted}"`);
  return found.slice(found.indexOf("\n") + 1).trim();
}

export function hashFile(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** Maximum download size by kind of artifact, megabytes. The npm package counts as installed. */
export const mostMegabytes = { npm: 15, executable: 45, debian: 45, image: 70 } as const;

/** @throws if the artifact is too large */
export function checkSize(kind: keyof typeof mostMegabytes, what: string, bytes: number): void {
  if (bytes <= mostMegabytes[kind] * 1e6) return;
  throw new Error(`${what} has ${bytes} bytes, but at most ${mostMegabytes[kind]} MB are allowed`);
}

export function formatMegabytes(path: string): string {
  return (statSync(path).size / 1e6).toFixed(1);
}
