/** Bundles programs and their threads for the checkout, the npm package and the single executable. */
import { writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { OutputChunk, Plugin } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));

export interface BundlePlan {
  /** Lists of programs. Each list is bundled together, so that programs in one thread share their modules. */
  readonly programs: readonly (readonly string[])[];
  /** Folder to which the files are written. */
  readonly directory: string;
  /** Final folder of the files, in the checkout or in a folder with the same layout. */
  readonly placed: string;
  /**
   * Location of libraries and threads: `node_modules` of the checkout, files beside the program, or
   * `import.meta.library` and `import.meta.thread`, which the executable's loader provides.
   */
  readonly libraries: "checkout" | "beside" | "executable";
}

/** The only form in which a source names a file beside it: a thread's program, or a file of the checkout. */
const besides = /new URL\("(\.[^"]+)", import\.meta\.url\)/g;

/** The bundler's form of an import of a Node module. */
const imports = /^import (?:([\w$]+)(?:, )?)?(\{.*\}|\* as [\w$]+)? from "(node:[\w/]+)";$/gm;

/** Node modules that packages may import without their scheme. */
const unprefixed = new Set(builtinModules.filter((name) => !name.startsWith("node:")));

/** Placeholder for an escaped character in a text, a name or an expression. */
const marked = /\$u([0-9a-f]{4})/g;

/** Libraries that sources load on demand with `createRequire`. */
const lateLibraries = ["yaml", "re2js", "tldts"];

/** `require` of such a library, created inline or earlier. */
const lateRequire = /((?:require|createRequire\(import\.meta\.url\))\()"(yaml|re2js|tldts)"\)/g;

/** @returns the bundled sources, relative to the checkout */
export async function bundlePrograms(plan: BundlePlan): Promise<ReadonlySet<string>> {
  const threads = new Set<string>();
  const sources = new Set<string>();
  for (const together of plan.programs) await bundleTogether(together, plan, sources, threads);
  // A server keeps these files open: see src/lib/thread-programs.ts.
  const loadedByThreads = [pathOf(join(root, "bin/in-thread.js"), plan.placed)];
  // The iteration of a set includes elements added during it, because threads start threads.
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

/** One file per library, loaded on first use. Otherwise each thread would retain its text. */
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

/**
 * @param sources receives the bundled sources
 * @param threads receives the threads that they start
 * @returns the files
 */
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
    plugins: [filesBeside(plan, threads), modulesOfNode(), escapeNonAscii()],
  });
  const { output } = await build.write({
    dir: plan.directory,
    format: "esm",
    sourcemap: true,
    keepNames: true,
    // A starting thread reads and retains all of it. Names in stack traces are preserved.
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

/** Lets the bundle find files beside a source. Programs of threads become their bundles. Other files stay in place. */
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
        // Replace only within a line, so that the bundler's source map remains valid.
        return { code: replaced, map: null };
      },
    },
  };
}

/**
 * Uses Node's own modules directly. An import would create an object with all exports of the module, which loads unused
 * parts and takes a tenth of a thread's start.
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
 * Writes non-ASCII characters as escapes: V8 stores a text with a character beyond Latin-1 in twice the memory, in each
 * thread. They are marked before minification with marks as long as their escapes, because the minifier would write
 * them unescaped. Source maps remain valid.
 */
function escapeNonAscii(): Plugin {
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

/** Uses slashes on every system. */
function pathOf(file: string, from = root): string {
  return relative(from, file).replaceAll("\\", "/");
}

function urlFromBundle(path: string): string {
  return `new URL(${JSON.stringify(path)}, import.meta.url)`;
}

/** `src/cli/main.ts` → `src-cli-main`. A bundle is one folder, so that relative paths are the same for all files. */
export function nameOf(source: string): string {
  return source.replace(/\.ts$/, "").replaceAll("/", "-");
}
