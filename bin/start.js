// Runs a program on the Node that comes with Postern. The launchers of the checkout and of the npm package share it.
// Plain JavaScript that Node 20 can parse. Node's modules are taken, not imported: an import loads all parts of a module.
const { existsSync, realpathSync } = process.getBuiltinModule("node:fs");
const { fileURLToPath } = process.getBuiltinModule("node:url");

const leastMajor = 24;
/** Settings of glibc's malloc for servers. Values that the environment already has stay. */
const memory = {
  // Returns freed memory to the system from 128 KiB on. Otherwise glibc raises this limit with the largest freed block,
  // which is a bundle's compiled code (decision 27).
  MALLOC_TRIM_THRESHOLD_: String(128 * 1024),
  // A thread caches 1,000 freed blocks of each size up to 1 KiB instead of 7: a TLS connection takes some 700 (decision 27).
  GLIBC_TUNABLES: "glibc.malloc.tcache_count=1000",
};
/** The commands that are servers. */
const servers = new Set(["serve", "dev"]);
/** By then a server or an agent has loaded everything that its start needs. */
const flushMs = 2000;

/**
 * Runs `run` in this process if its Node is the one that comes with Postern, or a recent one where none was installed.
 * Otherwise runs `file` with `words` on that Node.
 * @param {{ pinned: string | undefined, file: string, words: string[], isCommandLine: boolean, args: string[],
 *   missing: string, run: () => Promise<void> }} plan `pinned`: path of the Node that comes with Postern. `args`: of the
 *   command line. `missing`: the step that installs Node, for a message.
 */
export async function start({ pinned, file, words, isCommandLine, args, missing, run }) {
  const isServer = isCommandLine && servers.has(args[0] ?? "");
  const isInstalled = pinned !== undefined && existsSync(pinned);
  const isFit = isInstalled
    ? realpathSync(pinned) === realpathSync(process.execPath)
    : Number.parseInt(process.versions.node, 10) >= leastMajor;
  if (isFit) {
    if (isServer) startOver();
    return await run();
  }
  if (!isInstalled) {
    fail(`this is Node ${process.versions.node}, and Postern needs Node ${leastMajor} or later: ${missing}`);
  }
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(pinned, [file, ...words], {
    // The pipe closes when this process ends, in whatever way: see src/cli/process/launcher.ts.
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: {
      ...(isServer && memory),
      ...process.env,
      POSTERN_LAUNCHER_FD: isCommandLine ? "3" : undefined,
    },
  });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) =>
    fail(
      `the Node that comes with Postern could not be started (${error.message}): remove node_modules and install again`,
    ),
  );
  child.on("exit", (code, signal) => {
    if (signal) process.removeAllListeners(signal);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code ?? 1;
  });
}

/**
 * Replaces this process by one with the settings of `memory`, unless it has them: glibc reads its environment first of
 * all. The process keeps its id, its arguments and its open files.
 */
function startOver() {
  const knows = process.platform === "linux" && process.execve !== undefined;
  if (!knows || Object.keys(memory).every((name) => name in process.env)) return;
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, again, { ...memory, ...process.env });
  } catch {
    // Node's permissions may forbid it: the server runs without these settings.
  }
}

/** Turns on Node's cache of compiled code. @param {string} directory */
export function cacheCompiled(directory) {
  const { enableCompileCache, flushCompileCache } = process.getBuiltinModule("node:module");
  enableCompileCache?.(directory);
  // Node writes the cache when a process ends. A killed process would lose it; commands end before this.
  if (flushCompileCache) setTimeout(() => flushCompileCache(), flushMs).unref();
}

/**
 * Runs the program at `url` in this process. `process.argv[1]` names its file: of a bundle, or a source.
 * @param {string} url
 * @param {string[]} args
 * @param {string} cache the directory that `cacheCompiled` was given
 */
export async function runProgram(url, args, cache) {
  process.argv.splice(1, process.argv.length, fileURLToPath(url), ...args);
  // Worker threads find it in their environment alone: those of a bundle when they have begun (in-thread.js).
  const isBundled = url.endsWith(".js");
  if (isBundled) delete process.env.NODE_COMPILE_CACHE;
  process.env[isBundled ? "POSTERN_COMPILE_CACHE" : "NODE_COMPILE_CACHE"] = cache;
  await import(url);
}

/** @param {string} sentence @returns {never} */
export function fail(sentence) {
  process.stderr.write(`postern: ${sentence}\n`);
  process.exit(2);
}
