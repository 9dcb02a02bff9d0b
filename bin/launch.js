// Brings the checkout into the state that the lockfile describes, and runs a program on the pinned Node.
// Plain JavaScript that Node 20 can parse: it is what a machine with only Node 20 runs first.
// Node's modules are taken, not imported, which would load all that they can do; each start and each command pays for it.
import { cacheCompiled, fail, runProgram, start } from "./start.js";

const { accessSync, constants, existsSync, readdirSync, statSync } = process.getBuiltinModule("node:fs");
const { dirname, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const marker = join(root, "node_modules", ".package-lock.json");
const pinned = join(root, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");
/** Compiled code, kept from one start to the next; not in the shared temporary directory, where others may write. */
const compileCache = join(root, "node_modules", ".cache", "compile");

/** Runs `npm ci` when `node_modules` is missing or older than the lockfile. */
function install() {
  const lockfile = join(root, "package-lock.json");
  if (!existsSync(lockfile)) return;
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(lockfile).mtimeMs) return;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  process.stderr.write("postern: installing what the lockfile lists (npm ci) …\n");
  const npm = spawnSync("npm", ["ci"], { cwd: root, stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (npm.error) fail(`npm could not be run (${npm.error.message}): install it, it comes with Node`);
  if (npm.status !== 0)
    fail("the installation (npm ci) failed: see its output above, mend the cause and run this again");
}

/** Builds the pages when they are missing or older than their sources; without Vite, which only development has, never. */
function buildPages() {
  const program = join(root, "console", "build.js");
  if (!existsSync(program) || !existsSync(join(root, "node_modules", "vite"))) return;
  const built = join(root, "console", "dist", "built");
  const since = existsSync(built) ? statSync(built).mtimeMs : 0;
  const sources = ["console/src", "console/index.html", "console/inspector.html", "console/build.js", "sdk/src"];
  if (![...sources, "package-lock.json"].some((path) => isNewer(join(root, path), since))) return;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const node = existsSync(pinned) ? pinned : process.execPath;
  const run = spawnSync(node, [program], { cwd: root, stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (run.status !== 0) process.stderr.write("postern: the pages could not be built, see above; all else works\n");
}

/**
 * Whether a file, or a folder or anything in it, was changed after `since`.
 * @param {string} path @param {number} since @returns {boolean}
 */
function isNewer(path, since) {
  const state = statSync(path);
  if (state.mtimeMs > since) return true;
  return state.isDirectory() && readdirSync(path).some((name) => isNewer(join(path, name), since));
}

/**
 * Runs the TypeScript file `program`, relative to the checkout, with `args` on a Node that can; never returns
 * before it has ended.
 * @param {string} program
 * @param {string[]} args
 */
export async function launch(program, args) {
  install();
  buildPages();
  await start({
    pinned,
    file: join(root, "bin", "here.js"),
    words: [program, ...args],
    isCommandLine: program === "src/main.ts",
    args,
    missing: "run `npm ci`, which brings it, or install it",
    run: () => here(program, args),
  });
}

/**
 * Runs the program in this process. `process.argv[1]` names the file that runs: of the bundle, or the source.
 * @param {string} program
 * @param {string[]} args
 */
export async function here(program, args) {
  const { setSourceMapsSupport } = process.getBuiltinModule("node:module");
  const directory = process.env.NODE_COMPILE_CACHE ?? compileCache;
  cacheCompiled(directory);
  // Stack traces name the sources, of whatever is bundled.
  setSourceMapsSupport?.(true, { nodeModules: true });
  const { urlOf } = await import("./bundled.ts");
  let url = urlOf(program);
  if (program === "src/main.ts" && url.endsWith(".ts") && bundle()) url = urlOf(program);
  await runProgram(url, args, directory);
}

/**
 * Bundles the sources, where the bundler is installed and the bundle's folder can be written.
 * @returns {boolean} whether a bundle was made
 */
function bundle() {
  const modules = join(root, "node_modules");
  try {
    accessSync(join(modules, "rolldown"));
    accessSync(modules, constants.W_OK);
  } catch {
    return false;
  }
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  return spawnSync(process.execPath, [join(root, "scripts", "bundle.ts")], { stdio: "ignore" }).status === 0;
}
