// Brings the checkout into the state that the lockfile describes, and runs a program on the pinned Node.
// Plain JavaScript that Node 20 can parse: it is what a machine with only Node 20 runs first.
// Node's modules are taken, not imported, which would load all that they can do; each start and each command pays for it.
const { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } = process.getBuiltinModule("node:fs");
const { dirname, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const marker = join(root, "node_modules", ".package-lock.json");
const pinned = join(root, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");
const leastMajor = 24;
/** Compiled code, kept from one start to the next; not in the shared temporary directory, where others may write. */
const compileCache = join(root, "node_modules", ".cache", "compile");
/** What glibc's malloc is told; what the environment says already stays. */
const memory = {
  // Gives memory that was freed back to the system from 128 KiB on, as it begins; it would raise that with the largest
  // block that is freed, which is a bundle's compiled code (decision 54).
  MALLOC_TRIM_THRESHOLD_: String(128 * 1024),
  // A thread keeps 1,000 freed blocks of each size up to 1 KiB in place of 7: a TLS connection takes some 700 (decision 61).
  GLIBC_TUNABLES: "glibc.malloc.tcache_count=1000",
};
/** The commands that are servers. */
const servers = new Set(["serve", "dev"]);
/** By then a server or an agent has loaded what it starts with. */
const flushMs = 2000;

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
  const isInstalled = existsSync(pinned);
  const isFit = isInstalled
    ? realpathSync(pinned) === realpathSync(process.execPath)
    : Number.parseInt(process.versions.node, 10) >= leastMajor;
  if (isFit) {
    startOver(program, args);
    return await here(program, args);
  }
  if (!isInstalled) {
    fail(
      `this is Node ${process.versions.node}, and Postern needs Node ${leastMajor} or later: run \`npm ci\`, which brings it, or install it`,
    );
  }
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(pinned, [join(root, "bin", "here.js"), program, ...args], {
    // The pipe closes when this process ends, in whatever way: see src/cli/process/launcher.ts.
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: {
      ...(isServer(program, args) && memory),
      ...process.env,
      POSTERN_LAUNCHER_FD: program === "src/main.ts" ? "3" : undefined,
    },
  });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) =>
    fail(`the pinned Node could not be started (${error.message}): remove node_modules and run this again`),
  );
  child.on("exit", (code, signal) => {
    if (signal) process.removeAllListeners(signal);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code ?? 1;
  });
}

/** @param {string} program @param {string[]} args */
function isServer(program, args) {
  return program === "src/main.ts" && servers.has(args[0] ?? "");
}

/**
 * Has this process begin once more with what `memory` says, where it is to be a server and began without: glibc looks
 * at its environment first of all. Its id, its arguments and what it has open stay.
 * @param {string} program @param {string[]} args
 */
function startOver(program, args) {
  const knows = process.platform === "linux" && process.execve !== undefined;
  if (!knows || !isServer(program, args) || Object.keys(memory).every((name) => name in process.env)) return;
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, again, { ...memory, ...process.env });
  } catch {
    // It may not, as under Node's permissions, or cannot: it serves with what it has.
  }
}

/**
 * Runs the program in this process. `process.argv[1]` names the file that runs: of the bundle, or the source.
 * @param {string} program
 * @param {string[]} args
 */
export async function here(program, args) {
  const { enableCompileCache, flushCompileCache, setSourceMapsSupport } = process.getBuiltinModule("node:module");
  const directory = process.env.NODE_COMPILE_CACHE ?? compileCache;
  enableCompileCache?.(directory);
  // What Node would write at the end is lost with a process that is killed; commands have ended before.
  if (flushCompileCache) setTimeout(() => flushCompileCache(), flushMs).unref();
  // Stack traces name the sources, of whatever is bundled.
  setSourceMapsSupport?.(true, { nodeModules: true });
  const { urlOf } = await import("./bundled.ts");
  let url = urlOf(program);
  if (program === "src/main.ts" && url.endsWith(".ts") && bundle()) url = urlOf(program);
  process.argv.splice(1, process.argv.length, fileURLToPath(url), ...args);
  // Worker threads find it in their environment alone: those of a bundle when they have begun (in-thread.js).
  const isBundled = url.endsWith(".js");
  if (isBundled) delete process.env.NODE_COMPILE_CACHE;
  process.env[isBundled ? "POSTERN_COMPILE_CACHE" : "NODE_COMPILE_CACHE"] = directory;
  await import(url);
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

/** @param {string} sentence @returns {never} */
function fail(sentence) {
  process.stderr.write(`postern: ${sentence}\n`);
  process.exit(2);
}
