// What runs first in a thread that was bundled, and makes its start cheap: decision 24.
// Node's modules are taken, not imported: see launch.js.
const { readFileSync } = process.getBuiltinModule("node:fs");
const { SourceMap, enableCompileCache, flushCompileCache } = process.getBuiltinModule("node:module");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { setFlagsFromString } = process.getBuiltinModule("node:v8");

/** By the URL of a bundled file; undefined for one without. @type {Map<string, InstanceType<typeof SourceMap> | undefined>} */
const maps = new Map();

/** To be called before the thread loads anything else. */
export function beginThread() {
  // Node comes with its own modules compiled, and V8 takes that code only under the flags that it was compiled with. The
  // one that this thread's heap has begun by (src/cli/platform/threads/heap.ts) has done its work.
  setFlagsFromString("--initial-old-space-size=0");
  // Not before, as Node would: it keeps compiled code apart by those flags, and which thread takes the flag back first is chance.
  // Without a directory Node would take the shared temporary one, where others may write.
  const directory = process.env.POSTERN_COMPILE_CACHE;
  if (directory !== undefined) enableCompileCache(directory);
  // Stack traces name the sources. With Node's own support each file that is loaded would be searched for its lines.
  Error.prepareStackTrace = (error, sites) =>
    [Error.prototype.toString.call(error), ...sites.map((site) => `    at ${inSource(site)}`)].join("\n");
}

/** To be called once it has loaded its program: what Node would write at its end is lost with a process that is killed. */
export function keepCompiled() {
  flushCompileCache();
}

/** @param {NodeJS.CallSite & { toString(): string }} site */
function inSource(site) {
  const text = site.toString();
  const [url, line, column] = [site.getScriptNameOrSourceURL(), site.getLineNumber(), site.getColumnNumber()];
  if (!url?.startsWith("file:") || line === null || column === null) return text;
  const origin = mapOf(url)?.findOrigin(line, column);
  if (origin === undefined || !("fileName" in origin)) return text;
  const source = fileURLToPath(new URL(origin.fileName, url));
  return text.replace(`${url}:${line}:${column}`, `${source}:${origin.lineNumber}:${origin.columnNumber}`);
}

/** @param {string} url */
function mapOf(url) {
  if (!maps.has(url)) maps.set(url, readMap(url));
  return maps.get(url);
}

/** @param {string} url */
function readMap(url) {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), "utf8")));
  } catch {
    // It runs from a source, or from a bundle that was removed since: the trace says where in that.
    return undefined;
  }
}
