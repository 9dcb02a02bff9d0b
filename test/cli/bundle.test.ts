/** The bundle from which programs start. It behaves like the sources, and is used only while it matches them. */
import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { findOldNode, root } from "../support/command.ts";

interface Said {
  readonly file: string;
  readonly manifest: string;
  readonly ownStack: string;
  readonly threadStack: string;
}

const main = `
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";

const thread = new Worker(new URL("./below/thread.ts", import.meta.url));
const own = new Error("own");
thread.on("message", (threadStack) => {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const file: string = import.meta.url;
  console.log(JSON.stringify({ file, manifest, ownStack: own.stack, threadStack }));
});
`;
const thread = `
import { parentPort } from "node:worker_threads";

function whereItIs(): string | undefined {
  return new Error("WORD").stack;
}
parentPort?.postMessage(whereItIs());
`;

describe("the bundle", () => {
  let clone: string;
  before(() => {
    clone = realpathSync(mkdtempSync(join(tmpdir(), "postern-bundle-")));
    for (const path of ["bin", "scripts/bundle.ts", "scripts/bundling.ts", "package.json", "package-lock.json"]) {
      cpSync(join(root, path), join(clone, path), { recursive: true });
    }
    mkdirSync(join(clone, "node_modules"));
    for (const name of readdirSync(join(root, "node_modules")).filter((one) => one !== ".cache")) {
      symlinkSync(join(root, "node_modules", name), join(clone, "node_modules", name));
    }
    // The launcher checks this file to see whether it must install packages.
    rmSync(join(clone, "node_modules/.package-lock.json"));
    writeFileSync(join(clone, "node_modules/.package-lock.json"), "{}");
    for (const folder of ["src/api", "src/below", "src/cli/platform", "src/storage/opening"]) {
      mkdirSync(join(clone, folder), { recursive: true });
    }
    writeFileSync(join(clone, "src/main.ts"), main);
    writeFileSync(join(clone, "src/below/thread.ts"), thread.replace("WORD", "first µ… 😀"));
    const others = [
      "api/control-plane.ts",
      "cli/command-line.ts",
      "cli/platform/platform.ts",
      "storage/opening/open-store.ts",
    ];
    for (const other of others) {
      writeFileSync(join(clone, "src", other), "export const nothing = 1;\n");
    }
  });
  after(() => rmSync(clone, { recursive: true }));

  const run = (script: string, node = process.execPath): string => {
    const ended = spawnSync(node, [script], { cwd: clone, encoding: "utf8" });
    assert.equal(ended.status, 0, ended.stderr);
    return ended.stdout;
  };
  const start = (node?: string): Said => JSON.parse(run("bin/postern.js", node)) as Said;
  const bundle = (): string => run("scripts/bundle.ts");

  it("the bundle runs instead of the sources, with its threads, and stack traces and other files are those of the sources", () => {
    const { file, manifest, ownStack, threadStack } = start();
    assert.match(file, /\/node_modules\/\.cache\/postern\/[^/]+\/[^/]+\.js$/);
    assert.equal((JSON.parse(manifest) as { name: string }).name, "postern");
    assert.match(ownStack, /\/src\/main\.ts:6:/);
    assert.match(threadStack, /^Error: first µ… 😀\n.*\/src\/below\/thread\.ts:5:\d+\)\n/);
    assert.match(threadStack, /^ +at whereItIs /m);
    for (const name of globSync("*.js", { cwd: dirname(file) })) {
      // A single other character doubles the memory that V8 uses for the whole text.
      assert.ok(isAscii(readFileSync(join(dirname(file), name))), `${name} is not ASCII`);
    }
    const oldNode = findOldNode();
    if (oldNode !== undefined) assert.equal(start(oldNode).file, file, "by the launcher of another Node");
  });

  it("the bundle is rebuilt in the next start after a source has changed", () => {
    const first = start();
    writeFileSync(join(clone, "src/below/thread.ts"), thread.replace("WORD", "other"));
    const changed = start();
    assert.match(changed.file, /\.cache\/postern/);
    assert.notEqual(changed.file, first.file);
    assert.match(changed.threadStack, /^Error: other\n/);
    assert.equal(start().file, changed.file, "an unchanged source keeps its bundle");
    rmSync(join(clone, "src/below/thread.ts"));
    writeFileSync(join(clone, "src/main.ts"), `console.log(JSON.stringify({ file: import.meta.url }));\n`);
    assert.notEqual(start().file, changed.file, "a removed source");
  });

  it("the sources run if the bundler is missing, or if a source cannot be bundled", () => {
    const bundler = join(clone, "node_modules/rolldown");
    const target = readlinkSync(bundler);
    rmSync(bundler);
    writeFileSync(join(clone, "src/main.ts"), `console.log(JSON.stringify({ file: process.argv[1] }));\n`);
    assert.equal(start().file, join(clone, "src/main.ts"));
    symlinkSync(target, bundler);
    assert.match(start().file, /\.cache\/postern/);
    writeFileSync(join(clone, "src/storage/opening/open-store.ts"), "export const broken = ;\n");
    assert.equal(start().file, join(clone, "src/main.ts"));
    writeFileSync(join(clone, "src/storage/opening/open-store.ts"), "export const nothing = 1;\n");
  });

  it("the bundle's threads leave their compiled code to the next start, even if their process is killed", () => {
    // This thread keeps running, because a normal exit stores the compiled code.
    const staying = `import { parentPort } from "node:worker_threads";

parentPort?.on("message", () => {});
setImmediate(() => parentPort?.postMessage("loaded"));
`;
    writeFileSync(join(clone, "src/below/thread.ts"), staying);
    // Killed by another process, because a process that kills itself exits normally in Node.
    const killed = `import { spawn } from "node:child_process";
import { Worker } from "node:worker_threads";

const thread = new Worker(new URL("./below/thread.ts", import.meta.url));
thread.on("message", () => spawn("kill", ["-9", String(process.pid)]));
`;
    writeFileSync(join(clone, "src/main.ts"), killed);
    bundle();
    const cache = join(clone, "compiled");
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    const ended = spawnSync(process.execPath, ["bin/postern.js"], { cwd: clone, encoding: "utf8", env });
    assert.equal(ended.signal, "SIGKILL", ended.stderr);
    const kept = globSync("*/*", { cwd: cache }).map((name) => readFileSync(join(cache, name), "latin1"));
    assert.ok(kept.some((code) => code.includes("src-below-thread.program.js")));
  });

  it("the bundle's threads store no compiled code in a folder that others may write, if no setting names the folder", () => {
    bundle();
    const [thread = ""] = globSync("node_modules/.cache/postern/*/*.thread.js", { cwd: clone });
    const shared = mkdtempSync(join(clone, "shared-"));
    const program = `new (require("node:worker_threads").Worker)(${JSON.stringify(join(clone, thread))}).on("message", () => process.exit(0))`;
    const { PATH } = process.env;
    const ended = spawnSync(process.execPath, ["-e", program], { encoding: "utf8", env: { PATH, TMPDIR: shared } });
    assert.equal(ended.status, 0, ended.stderr);
    assert.deepEqual(readdirSync(shared), []);
  });

  it("the bundle is rebuilt only when a source has changed, and the latest few remain for processes that use them", () => {
    const made = (): string[] => readdirSync(join(clone, "node_modules/.cache/postern")).sort();
    bundle();
    const first = made();
    bundle();
    assert.deepEqual(made(), first);
    for (let count = 1; count < 6; count += 1) {
      utimesSync(join(clone, "src/main.ts"), count, count);
      bundle();
    }
    assert.equal(made().length, 4, "three bundles and the index");
  });
});

it("the bundle supports the one form in which sources refer to files beside them", () => {
  const uses = globSync("src/**/*.ts", { cwd: root, exclude: (name) => name.endsWith(".test.ts") }).flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .filter((line) => line.includes("import.meta")),
  );
  const known =
    /new URL\("\.[^"]+", import\.meta\.url\)|createRequire\(import\.meta\.url\)|fileURLToPath\(import\.meta\.url\)/;
  assert.deepEqual(
    uses.filter((line) => !known.test(line)),
    [],
  );
  assert.ok(uses.some((line) => line.includes(".ts")));
});

it("no source loads another source dynamically by its path, which a bundle could not find", () => {
  const files = globSync("src/**/*.ts", { cwd: root, exclude: (name) => name.endsWith(".test.ts") });
  const late = files.filter((file) => /\brequire\("\./.test(readFileSync(join(root, file), "utf8")));
  assert.deepEqual(late, []);
});
