/** Bundles programs and the threads that they start: for the checkout, for the npm package and for the single executable. */
import { writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { OutputChunk, Plugin } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));

export interface BundlePlan {
  /** Each list is bundled together: programs that one thread loads share their modules. */
  readonly programs: readonly (readonly string[])[];
  /** Where the files are written. */
  readonly directory: string;
  /** Where the files will be, in the checkout or in a folder laid out like it. */
  readonly placed: string;
  /**
   * Where libraries and threads are found: in `node_modules` of the checkout, in files beside the program, or through
   * `import.meta.library` and `import.meta.thread`, which the loader of the executable provides.
   */
  readonly libraries: "checkout" | "beside" | "executable";
}

/** The one way in which a source names a file beside it: a thread's program, or a file of the checkout. */
const besides = /new URL\("(\.[^"]+)", import\.meta\.url\)/g;

/** How the bundler writes the import of one of Node's modules. */
const imports = /^import (?:([\w$]+)(?:, )?)?(\{.*\}|\* as [\w$]+)? from "(node:[\w/]+)";$/gm;

/** Node's modules that packages may name without their scheme. */
const unprefixed = new Set(builtinModules.filter((name) => !name.startsWith("node:")));

/** Stands for the escape of a character, wherever one may be: in a text, in a name, in an expression. */
const marked = /\$u([0-9a-f]{4})/g;

/** Libraries that sources load late with `createRequire`. */
const lateLibraries = ["yaml", "re2js", "tldts"];

/** `require` of such a library, made in place or before. */
const lateRequire = /((?:require|createRequire\(import\.meta\.url\))\()"(yaml|re2js|tldts)"\)/g;

/** @returns the sources that were bundled, relative to the checkout */
export async function bundlePrograms(plan: BundlePlan): Promise<ReadonlySet<string>> {
  const threads = new Set<string>();
  const sources = new Set<string>();
  for (const together of plan.programs) await bundleTogether(together, plan, sources, threads);
  // A server holds these files open: see src/lib/thread-programs.ts.
  const loadedByThreads = [pathOf(join(root, "bin/in-thread.js"), plan.placed)];
  // A set's iteration goes on to what is found meanwhile: threads start threads.
  for (const thread of threads) {
    const chunks = await bundleTogether([thread], plan, sources, threads);
    loadedByThreads.push(threadFile(thread), ...chunks);
    if (plan.libraries !== "executable") {
      writeFileSync(join(plan.directory, threadFile(thread)), startOf(thread, plan.placed));
    }
  }
  if (plan.libraries !== "executable") {
    writeFileSync(join(plan.directory, "threads.json"), JSON.stringify(loadedByThreads.sort()));
  }
  if (plan.libraries !== "checkout") for (const name of lateLibraries) await bundleLibrary(name, plan.directory);
  writeFileSync(join(plan.directory, "package.json"), '{ "type": "module" }\n');
  return sources;
}

/** One file per library, loaded when it is first needed: each thread would keep its text otherwise. */
async function bundleLibrary(name: string, directory: string): Promise<void> {
  const build = await rolldown({ cwd: root, input: { [name]: name }, platform: "node" });
  await build.write({
    dir: directory,
    format: "cjs",
    exports: "named",
    minify: true,
    entryFileNames: "[name].library.cjs",
  });
  await build.close();
}

/** @param sources receives the bundled sources @param threads receives the threads that they start @returns the files */
async function bundleTogether(
  together: readonly string[],
  plan: BundlePlan,
  sources: Set<string>,
  threads: Set<string>,
): Promise<readonly string[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(together.map((program) => [nameOf(program), join(root, program)])),
    platform: "node",
    external: ["pg-native"],
    plugins: [filesBeside(plan, threads), modulesOfNode(), escapes()],
  });
  const { output } = await build.write({
    dir: plan.directory,
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
  return chunks.map(({ fileName }) => fileName);
}

/**
 * Has what stands beside a source found from the bundle, too: programs of threads are bundled, and are their bundles
 * then; other files stay where they are.
 */
function filesBeside({ placed, libraries }: BundlePlan, threads: Set<string>): Plugin {
  return {
    name: "files-beside",
    transform: {
      filter: { code: "import.meta.url" },
      handler(code, id) {
        const located = libraries === "checkout" ? code : lateLibrariesIn(code, libraries);
        const replaced = located.replaceAll(besides, (_, path: string) => {
          const beside = pathOf(join(dirname(id), path));
          if (!beside.endsWith(".ts")) return urlFromBundle(pathOf(join(root, beside), placed));
          threads.add(beside);
          if (libraries === "executable") return `import.meta.thread(${JSON.stringify(programFile(nameOf(beside)))})`;
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

function lateLibrariesIn(code: string, libraries: "beside" | "executable"): string {
  const beside = code.replaceAll(lateRequire, (_, call: string, name: string) => `${call}"./${name}.library.cjs")`);
  return libraries === "beside" ? beside : beside.replaceAll("createRequire(import.meta.url)", "import.meta.library");
}

function threadFile(source: string): string {
  return `${nameOf(source)}.thread.js`;
}

export function programFile(name: string): string {
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
export function nameOf(source: string): string {
  return source.replace(/\.ts$/, "").replaceAll("/", "-");
}
