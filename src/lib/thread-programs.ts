/**
 * Holds the programs of threads open. A server starts threads for as long as it runs: for example, after an edge has
 * crashed, or for the first login. By then an upgrade may have replaced the server's original files. An open file
 * outlives its name, so threads can still start from these files.
 */
import { fstatSync, openSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { getEnvironmentData, setEnvironmentData, Worker } from "node:worker_threads";
import type { WorkerOptions } from "node:worker_threads";

/** File descriptors, which all threads of a process share, by the URLs of their files. */
type HeldFiles = Readonly<Record<string, number>>;

/** Key under which every thread finds the held files. The threads that it starts inherit them. */
const heldKey = "postern.thread-programs";

/** Program that loads a thread's program from held files. It is a text, because no file of ours may be left. */
const loader = `
const { fstatSync, readSync } = process.getBuiltinModule("node:fs");
const { registerHooks } = process.getBuiltinModule("node:module");
const { getEnvironmentData } = process.getBuiltinModule("node:worker_threads");
const held = getEnvironmentData(${JSON.stringify(heldKey)});
registerHooks({
  resolve(specifier, context, next) {
    const url = URL.parse(specifier, context.parentURL)?.href;
    return held[url] === undefined ? next(specifier, context) : { url, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    const file = held[url];
    if (file === undefined) return next(url, context);
    const source = new Uint8Array(fstatSync(file).size);
    readSync(file, source, 0, source.length, 0);
    return { source, format: "module", shortCircuit: true };
  },
});
`;

/** Holds these files open until the process ends. Call it before the first thread starts. */
export function holdThreadPrograms(files: readonly URL[]): void {
  const held: HeldFiles = Object.fromEntries(files.map((file) => [file.href, openSync(file, "r")]));
  setEnvironmentData(heldKey, held);
}

/** Starts a thread from its file, or from the held files if one of them was removed or replaced. */
export function startThreadProgram(file: URL, options: WorkerOptions = {}): Worker {
  const held = getEnvironmentData(heldKey) as HeldFiles | undefined;
  if (held?.[file.href] === undefined || isInPlace(held)) return new Worker(file, options);
  return new Worker(`${loader}import(${JSON.stringify(file.href)});`, { ...options, eval: true });
}

function isInPlace(held: HeldFiles): boolean {
  return Object.entries(held).every(([url, descriptor]) => {
    const named = statSync(fileURLToPath(url), { throwIfNoEntry: false });
    const opened = fstatSync(descriptor);
    return named?.ino === opened.ino && named.dev === opened.dev;
  });
}
