/** Checksums of the artifacts, and the notes that a release is published with. */
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { distFolder, root, version } from "./paths.ts";

/** Writes `SHA256SUMS`, in the format of `sha256sum`. @returns its path */
export function writeChecksums(artifacts: readonly string[]): string {
  const lines = artifacts.map((path) => `${sha256(path)}  ${basename(path)}\n`).sort();
  const path = join(distFolder, "SHA256SUMS");
  writeFileSync(path, lines.join(""));
  return path;
}

/** Writes the release notes: the version's section of the changelog, and the artifacts. @returns their path */
export function writeNotes(artifacts: readonly string[]): string {
  const rows = artifacts.map((path) => `| \`${basename(path)}\` | ${megabytes(path)} MB |`);
  const text = `# Postern ${version}

${changesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version)}

## Artifacts

| File | Size |
| --- | --- |
${rows.join("\n")}

Verify a download: \`sha256sum --check --ignore-missing SHA256SUMS\`.

Tests install and run the npm package, the linux-x64 executable and the amd64 package. Tests start the linux-arm64
executable in an emulator where one is installed. On macOS and Windows, use the npm package: no test runs it there.
`;
  const path = join(distFolder, "RELEASE-NOTES.md");
  writeFileSync(path, text);
  return path;
}

/** The section of a version, without its heading. @throws if there is none */
export function changesOf(changelog: string, wanted: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => /^\[?([^\s,\]]+)/.exec(section)?.[1] === wanted);
  if (found === undefined)
    throw new Error(`CHANGELOG.md has no section for ${wanted}: add one that starts "## ${wanted}"`);
  return found.slice(found.indexOf("\n") + 1).trim();
}

export function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

export function megabytes(path: string): string {
  return (statSync(path).size / 1e6).toFixed(1);
}
