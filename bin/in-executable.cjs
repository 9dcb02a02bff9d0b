// Loads Postern's programs from inside the single executable: this file is its main script, and worker threads run it, too.
// Programs are modules of the bundle, stored as assets beside V8's compiled code for them.
const sea = process.getBuiltinModule("node:sea");
const { Script, SourceTextModule, SyntheticModule } = process.getBuiltinModule("node:vm");
const { setFlagsFromString } = process.getBuiltinModule("node:v8");
const { isMainThread } = process.getBuiltinModule("node:worker_threads");

const folder = "file:///postern/lib/";
/** Settings of glibc's malloc for servers: see bin/start.js. */
const memory = { MALLOC_TRIM_THRESHOLD_: String(128 * 1024), GLIBC_TUNABLES: "glibc.malloc.tcache_count=1000" };
const servers = new Set(["serve", "dev"]);

/** Modules that this thread has loaded. @type {Map<string, import("node:vm").SourceTextModule>} */
const modules = new Map();
/** What libraries export. @type {Map<string, unknown>} */
const libraries = new Map();
const assets = new Set(sea.getAssetKeys());

/** @param {string} path */
function text(path) {
  // The bundle is ASCII: V8 keeps such a text in one byte per character.
  return Buffer.from(sea.getRawAsset(path)).latin1Slice();
}

/** V8's code for a file; undefined where it was not stored. @param {string} path */
function codeOf(path) {
  return assets.has(`${path}.code`) ? Buffer.from(sea.getRawAsset(`${path}.code`)) : undefined;
}

/** @param {string} source @param {Buffer | undefined} code @param {import("node:vm").SourceTextModuleOptions} options */
function compiled(source, code, options) {
  try {
    return new SourceTextModule(source, code ? { ...options, cachedData: code } : options);
  } catch (error) {
    // V8 flags given to this process may differ from those of the build: V8 compiles the text again.
    if (error?.code !== "ERR_VM_MODULE_CACHED_DATA_REJECTED") throw error;
    return new SourceTextModule(source, options);
  }
}

/** @param {string} specifier `./` and a file of the bundle */
function moduleOf(specifier) {
  const name = specifier.slice(2);
  const known = modules.get(name);
  if (known) return known;
  const path = `lib/${name}`;
  const options = {
    identifier: folder + name,
    importModuleDynamically: load,
    initializeImportMeta(meta) {
      meta.url = folder + name;
      meta.library = library;
      meta.thread = thread;
    },
  };
  const made = compiled(text(path), codeOf(path), options);
  modules.set(name, made);
  return made;
}

/** @param {string} specifier `./` and a file of the bundle, or a module of Node */
async function load(specifier) {
  if (specifier.startsWith("node:")) return await loadOfNode(specifier);
  const found = moduleOf(specifier);
  if (found.status === "unlinked") await found.link(moduleOf);
  await found.evaluate();
  return found;
}

/** A module of Node as a module of the bundle. @param {string} specifier */
async function loadOfNode(specifier) {
  const exported = process.getBuiltinModule(specifier);
  const names = [...new Set([...Object.keys(exported), "default"])];
  const made = new SyntheticModule(names, () => {
    for (const name of names) made.setExport(name, name === "default" ? exported : exported[name]);
  });
  await made.link(() => {});
  await made.evaluate();
  return made;
}

/** A library that sources load late, or a module of Node that a library requires. @param {string} specifier */
function library(specifier) {
  if (!specifier.startsWith("./")) return process.getBuiltinModule(specifier);
  if (!libraries.has(specifier)) {
    const path = `lib/${specifier.slice(2)}`;
    const module = { exports: {} };
    const wrapped = `(function (exports, require, module) {${text(path)}\n})`;
    const run = new Script(wrapped, { filename: folder + specifier.slice(2) }).runInThisContext();
    run(module.exports, process.getBuiltinModule, module);
    libraries.set(specifier, module.exports);
  }
  return libraries.get(specifier);
}

/** The URL that runs a program of the bundle in a worker thread. @param {string} program */
function thread(program) {
  const start = `globalThis.posternProgram=${JSON.stringify(`./${program}`)};(0,eval)(process.getBuiltinModule("node:sea").getAsset("in-executable","utf8"))`;
  return new URL(`data:text/javascript,${encodeURIComponent(start)}`);
}

/** Replaces this process by one with the settings of `memory`: glibc reads its environment first of all. */
function startOver() {
  const isDue = process.platform === "linux" && servers.has(process.argv[2] ?? "");
  if (!isDue || Object.keys(memory).every((name) => name in process.env)) return;
  try {
    process.execve(process.execPath, [process.execPath, ...process.argv.slice(2)], { ...memory, ...process.env });
  } catch {
    // The system may forbid it: the server runs without these settings.
  }
}

if (isMainThread) startOver();
// V8 takes compiled code only under the flags that it was compiled with: see bin/in-thread.js.
else setFlagsFromString("--initial-old-space-size=0");
const program = globalThis.posternProgram ?? "./src-main.program.js";
delete globalThis.posternProgram;
// A failure ends the thread: nothing else handles the rejection.
void load(program);
