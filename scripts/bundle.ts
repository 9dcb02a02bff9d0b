/**
 * `npm run bundle`: bundles the programs of the checkout into a few files each, which start several times faster than
 * the sources. The launcher runs it after the installation, and `npm test` before the tests. `bin/bundled.ts` uses the
 * bundle until a source changes. Decision 24 explains why.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundles, freshBundle } from "../bin/bundled.ts";
import type { Bundle, Input } from "../bin/bundled.ts";
import { bundlePrograms, nameOf, programFile } from "./bundling.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Programs that are started as processes, and sources that the tests load. Each list is bundled separately, and sources
 * that one thread loads share their modules. Threads are found in the sources.
 */
const programs = [
  ["src/main.ts"],
  [
    "src/api/control-plane.ts",
    "src/cli/command-line.ts",
    "src/cli/platform/platform.ts",
    "src/storage/opening/open-store.ts",
  ],
];

/** Files other than sources that affect the bundle. */
const otherInputs = ["package-lock.json", "scripts/bundle.ts", "scripts/bundling.ts"];

/** Number of bundles that are preserved, because a running server loads files of commands and threads on first use. */
const keptBundles = 3;

if (freshBundle() === undefined) await bundle();

async function bundle(): Promise<void> {
  mkdirSync(bundles, { recursive: true });
  const directory = mkdtempSync(join(bundles, "b-"));
  const startedMs = Date.now();
  const sources = await bundlePrograms({ programs, directory, placed: directory, libraries: "checkout" });
  const inputs = [...sources, ...otherInputs].map((path): Input => {
    const { size, mtimeMs } = statSync(join(root, path));
    return [path, size, mtimeMs];
  });
  if (inputs.some(([, , modifiedMs]) => modifiedMs > startedMs)) throw new Error("bundle: a source changed meanwhile");
  const files = programs.flat().map((program) => [program, `${basename(directory)}/${programFile(nameOf(program))}`]);
  const index: Bundle = { programs: Object.fromEntries(files), inputs };
  const written = join(directory, "index.json");
  writeFileSync(written, JSON.stringify(index));
  renameSync(written, join(bundles, "index.json"));
  removeOldBundles();
}

function removeOldBundles(): void {
  const made = readdirSync(bundles, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(bundles, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const old of made.slice(keptBundles)) rmSync(old, { recursive: true, force: true });
}
