/**
 * `npm run release`: builds every artifact into `dist/` and prints one line for each. `-- npm executable debian` builds
 * only those, `--x64` only for linux-x64. The variable `POSTERN_RELEASE_FOLDER` replaces the folder `dist`.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { writeBillOfMaterials } from "./release/bill-of-materials.ts";
import { buildDebianPackage } from "./release/debian-package.ts";
import { buildExecutables } from "./release/executable.ts";
import { writeImage } from "./release/image.ts";
import { formatMegabytes, hashFile, writeChecksums, writeNotes } from "./release/notes.ts";
import { buildNpmPackage } from "./release/npm-package.ts";
import { buildFolder, distFolder, linuxPlatforms, otherPlatforms, root, sourceState } from "./release/paths.ts";

const words = process.argv.slice(2);
const chosen = words.filter((word) => !word.startsWith("--"));
const isX64 = words.includes("--x64");
const linux = isX64 ? linuxPlatforms.slice(0, 1) : linuxPlatforms;
const others = isX64 ? [] : otherPlatforms;

/** In this order: a Debian package and an image contain the executable. */
const steps: Readonly<Record<string, () => Iterable<string | Promise<string>> | AsyncIterable<string>>> = {
  npm: () => [buildNpmPackage()],
  executable: () => buildExecutables([...linux, ...others]),
  debian: () => linux.values().map(buildDebianPackage),
  image: () => linux.values().map(writeImage),
  sbom: () => [writeBillOfMaterials()],
};

for (const name of chosen) {
  if (!(name in steps)) throw new Error(`build "${name}": the artifacts are ${Object.keys(steps).join(", ")}`);
}
const builtFrom = join(distFolder, ".built-from");
mkdirSync(distFolder, { recursive: true });
rmSync(builtFrom, { force: true });
const artifacts: string[] = [];
for (const [name, build] of Object.entries(steps)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stderr.write(`building: ${name} …\n`);
  for await (const path of build()) artifacts.push(printPath(path));
}
if (chosen.length === 0) {
  artifacts.push(printPath(writeNotes(artifacts)));
  printPath(writeChecksums(artifacts));
  // `npm run test:packages` skips the build if the sources are unchanged.
  if (!isX64) writeFileSync(builtFrom, sourceState());
}
rmSync(buildFolder, { recursive: true, force: true });

function printPath(path: string): string {
  process.stdout.write(`${relative(root, path)}  ${formatMegabytes(path)} MB  ${hashFile(path)}\n`);
  return path;
}
