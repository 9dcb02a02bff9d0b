/**
 * `npm run bundle`: the programs of the checkout in a few files each, which start several times faster than from their
 * sources. The launcher does it after it has installed, and `npm test` before the tests; `bin/bundled.ts` uses what is
 * made for as long as no source has changed. Decision 32 says why.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { OutputChunk, Plugin } from "rolldown";
import { bundles, freshBundle } from "../bin/bundled.ts";
import type { Bundle, Input } from "../bin/bundled.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * What is started as a process, and what the tests load, of which each list is bundled by itself: what is loaded into one
 * thread has its modules in common. Threads are found in the sources.
 */
const programs = [
  ["src/main.ts"],
  [
    "src/api/control-plane.ts",
    "src/cli/command-line.ts",
    "src/cli/platform/platform.ts",
    "src/storage/opening/open.ts",
  ],
];

/** Besides the sources: what decides what is made of them. */
const otherInputs = ["package-lock.json", "scripts/bundle.ts"];

/** How many bundles stay: a server that runs loads a command's or a thread's file when it first needs it. */
const keptBundles = 3;

/** The one way in which a source names a file beside it: a thread's program, or a file of the checkout. */
const besides = /new URL\("(\.[^"]+)", import\.meta\.url\)/g;

/** How the bundler writes the import of one of Node's modules. */
const imports = /^import (?:([\w$]+)(?:, )?)?(\{.*\}|\* as [\w$]+)? from "(node:[\w/]+)";$/gm;

/** Node's modules that packages may name without their scheme. */
const unprefixed = new Set(builtinModules.filter((name) => !name.startsWith("node:")));

/** Stands for the escape of a character, wherever one may be: in a text, in a name, in an expression. */
const marked = /\$u([0-9a-f]{4})/g;

if (freshBundle() === undefined) await bundle();

async function bundle(): Promise<void> {
  mkdirSync(bundles, { recursive: true });
  const directory = mkdtempSync(join(bundles, "b-"));
  const startedMs = Date.now();
  const threads = new Set<string>();
  const sources = new Set<string>();
  for (const together of programs) await bundleTogether(together, directory, sources, threads);
  // A set's iteration goes on to what is found meanwhile: threads start threads.
  for (const thread of threads) {
    await bundleTogether([thread], directory, sources, threads);
    writeFileSync(join(directory, threadFile(thread)), startOf(thread, directory));
  }
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
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

/** @param sources is given what they were made of @param threads is given those that they start */
async function bundleTogether(
  together: readonly string[],
  directory: string,
  sources: Set<string>,
  threads: Set<string>,
): Promise<void> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(together.map((program) => [nameOf(program), join(root, program)])),
    platform: "node",
    external: ["pg-native"],
    plugins: [filesBeside(directory, threads), modulesOfNode(), escapes()],
  });
  const { output } = await build.write({
    dir: directory,
    format: "esm",
    sourcemap: true,
    keepNames: true,
    // A thread that starts reads all of it, and keeps it. Names that stack traces show stay.
    minify: { compress: true, mangle: { toplevel: true, keepNames: true }, codegen: true },
    entryFileNames: programFile("[name]"),
    chunkFileNames: "[name]-[hash].js",
  });
  await build.close();
  const chunks = output.filter((one): one is OutputChunk => one.type === "chunk");
  for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
    const path = pathOf(id);
    if (/^(src|sdk)\//.test(path)) sources.add(path);
  }
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
          threads.add(beside);
          return urlFromBundle(`./${threadFile(beside)}`);
        });
        // Only within a line: the map of the sources that the bundler makes stays right.
        return { code: replaced, map: null };
      },
    },
  };
}

/**
 * Takes Node's own modules as they are. Imported, each has an object of its own made with all that it exports, for which
 * parts are loaded that nobody asked for; in a thread that is a tenth of its start.
 */
function modulesOfNode(): Plugin {
  return {
    name: "modules-of-node",
    resolveId: (id) => (unprefixed.has(id) ? { id: `node:${id}`, external: true } : undefined),
    renderChunk(code) {
      const taken = code.replaceAll(
        imports,
        (_, whole: string | undefined, names: string | undefined, module: string) => {
          const bound = [whole, names?.replace(/^\* as /, "").replaceAll(" as ", ": ")].filter(
            (one) => one !== undefined,
          );
          return bound.map((one) => `const ${one} = process.getBuiltinModule("${module}");`).join(" ");
        },
      );
      const left = /^import .*"node:.*$/m.exec(taken);
      if (left) throw new Error(`bundle: this import of a module of Node was not understood: ${left[0]}`);
      return { code: taken, map: null };
    },
  };
}

/**
 * Writes other characters than those of ASCII as escapes: V8 keeps a text with one beyond Latin-1 in twice the memory, in
 * each thread. They are marked before the text is minified, which would write them as they are, at the length of their
 * escapes, so that the maps stay right.
 */
function escapes(): Plugin {
  return {
    name: "escapes",
    renderChunk(code) {
      if (code.search(marked) >= 0) throw new Error("bundle: a source has what stands for an escape");
      const escaped = code.replaceAll(/[^\0-\x7f]/g, (unit) => `$u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
      return { code: escaped, map: null };
    },
    generateBundle(_, output) {
      for (const chunk of Object.values(output)) {
        if (chunk.type === "chunk") chunk.code = chunk.code.replaceAll(marked, "\\u$1");
      }
    },
  };
}

function startOf(thread: string, directory: string): string {
  return `import { beginThread, keepCompiled } from "${pathOf(join(root, "bin/in-thread.js"), directory)}";

beginThread();
await import("./${programFile(nameOf(thread))}");
keepCompiled();
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
