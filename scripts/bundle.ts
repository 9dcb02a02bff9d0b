/**
 * `npm run bundle`: the programs of the checkout in a few files each, which start several times faster than from their
 * sources. The launcher does it after it has installed, and `npm test` before the tests; `bin/bundled.ts` uses what is
 * made for as long as no source has changed. Decision 32 says why.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { OutputChunk, Plugin } from "rolldown";
import { bundles, freshBundle } from "../bin/bundled.ts";
import type { Bundle, Input } from "../bin/bundled.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What is started as a process, and what the tests start as one; threads are found in the sources. */
const programs = [
  "src/main.ts",
  "src/api/control-plane.ts",
  "src/cli/command-line.ts",
  "src/cli/platform/platform.ts",
  "src/storage/open.ts",
];

/** Besides the sources: what decides what is made of them. */
const otherInputs = ["package-lock.json", "scripts/bundle.ts"];

/** How many bundles stay: a server that runs loads a command's or a thread's file when it first needs it. */
const keptBundles = 3;

/** The one way in which a source names a file beside it: a thread's program, or a file of the checkout. */
const besides = /new URL\("(\.[^"]+)", import\.meta\.url\)/g;

if (freshBundle() === undefined) await bundle();

async function bundle(): Promise<void> {
  mkdirSync(bundles, { recursive: true });
  const directory = mkdtempSync(join(bundles, "b-"));
  const threads = new Set<string>();
  const startedMs = Date.now();
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(programs.map((program) => [nameOf(program), join(root, program)])),
    platform: "node",
    external: ["pg-native"],
    plugins: [filesBeside(directory, threads)],
  });
  const { output } = await build.write({
    dir: directory,
    format: "esm",
    sourcemap: true,
    keepNames: true,
    // A thread that starts reads all of it.
    minify: { compress: false, mangle: false, codegen: true },
    entryFileNames: programFile("[name]"),
    chunkFileNames: "[name]-[hash].js",
  });
  await build.close();
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
  for (const thread of threads) writeFileSync(join(directory, threadFile(thread)), startOf(thread));
  const chunks = output.filter((one): one is OutputChunk => one.type === "chunk");
  const paths = [...new Set(chunks.flatMap(({ moduleIds }) => moduleIds))]
    .map((id) => pathOf(id))
    .filter((path) => /^(src|sdk)\//.test(path));
  const inputs = [...paths, ...otherInputs].map((path): Input => {
    const { size, mtimeMs } = statSync(join(root, path));
    return [path, size, mtimeMs];
  });
  if (inputs.some(([, , modifiedMs]) => modifiedMs > startedMs)) throw new Error("bundle: a source changed meanwhile");
  const files = programs.map((program) => [program, `${basename(directory)}/${programFile(nameOf(program))}`]);
  const index: Bundle = { programs: Object.fromEntries(files), inputs };
  const written = join(directory, "index.json");
  writeFileSync(written, JSON.stringify(index));
  renameSync(written, join(bundles, "index.json"));
  removeOldBundles();
}

/**
 * Has what stands beside a source found from the bundle, too: programs of threads are bundled, and are their bundles
 * then; other files stay where they are.
 */
function filesBeside(directory: string, threads: Set<string>): Plugin {
  return {
    name: "files-beside",
    transform: {
      filter: { code: "import.meta.url" },
      handler(code, id) {
        const replaced = code.replaceAll(besides, (_, path: string) => {
          const beside = pathOf(join(dirname(id), path));
          if (!beside.endsWith(".ts")) return urlFromBundle(pathOf(join(root, beside), directory));
          if (!threads.has(beside)) {
            threads.add(beside);
            this.emitFile({ type: "chunk", id: join(root, beside), fileName: programFile(nameOf(beside)) });
          }
          return urlFromBundle(`./${threadFile(beside)}`);
        });
        // Only within a line: the map of the sources that the bundler makes stays right.
        return { code: replaced, map: null };
      },
    },
  };
}

/** A thread has no settings of its starter's: its stack traces name the sources if it asks for that itself, first. */
function startOf(thread: string): string {
  return `import { setSourceMapsSupport } from "node:module";

setSourceMapsSupport(true, { nodeModules: true });
await import("./${programFile(nameOf(thread))}");
`;
}

function threadFile(source: string): string {
  return `${nameOf(source)}.thread.js`;
}

function programFile(name: string): string {
  return `${name}.program.js`;
}

/** With slashes, whatever the system has. */
function pathOf(file: string, from = root): string {
  return relative(from, file).replaceAll("\\", "/");
}

function urlFromBundle(path: string): string {
  return `new URL(${JSON.stringify(path)}, import.meta.url)`;
}

/** `src/cli/main.ts` → `src-cli-main`: a bundle is one folder, so that what is relative to one file is to all. */
function nameOf(source: string): string {
  return source.replace(/\.ts$/, "").replaceAll("/", "-");
}

function removeOldBundles(): void {
  const made = readdirSync(bundles, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(bundles, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const old of made.slice(keptBundles)) rmSync(old, { recursive: true, force: true });
}
