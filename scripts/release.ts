/**
 * `npm run release`: builds every artifact into `dist/` and prints one line for each. `-- npm executable debian` builds
 * only those, `--x64` leaves out arm64.
 */
import { mkdirSync, rmSync } from "node:fs";
import { relative } from "node:path";
import type { Platform } from "./release/paths.ts";
import { buildFolder, distFolder, root } from "./release/paths.ts";
import { writeBillOfMaterials } from "./release/bill-of-materials.ts";
import { buildDebianPackage } from "./release/debian-package.ts";
import { buildExecutables } from "./release/executable.ts";
import { megabytes, sha256, writeChecksums, writeNotes } from "./release/notes.ts";
import { buildNpmPackage } from "./release/npm-package.ts";

const words = process.argv.slice(2);
const chosen = words.filter((word) => !word.startsWith("--"));
const platforms: readonly Platform[] = words.includes("--x64") ? ["linux-x64"] : ["linux-x64", "linux-arm64"];

/** In this order: a Debian package contains the executable. */
const steps: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  npm: async () => [await buildNpmPackage()],
  executable: () => buildExecutables(platforms),
  debian: () => Promise.resolve(platforms.map(buildDebianPackage)),
  sbom: () => Promise.resolve([writeBillOfMaterials()]),
};

for (const name of chosen) {
  if (!(name in steps)) throw new Error(`build "${name}": the artifacts are ${Object.keys(steps).join(", ")}`);
}
mkdirSync(distFolder, { recursive: true });
const artifacts: string[] = [];
for (const [name, build] of Object.entries(steps)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  for (const path of await build()) {
    artifacts.push(path);
    process.stdout.write(`${relative(root, path)}  ${megabytes(path)} MB  ${sha256(path)}\n`);
  }
}
if (chosen.length === 0) {
  artifacts.push(writeNotes(artifacts));
  writeChecksums(artifacts);
}
rmSync(buildFolder, { recursive: true, force: true });
