/** The launcher in a fresh clone and with the wrong Node. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { findOldNode, freePorts, root, runCommand, startCommand } from "../support/command.ts";

const oldNode = findOldNode();

describe("the launcher", () => {
  let clone: string;
  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), "postern-clone-"));
    cpSync(join(root, "bin"), join(clone, "bin"), { recursive: true });
    cpSync(join(root, "package.json"), join(clone, "package.json"));
  });
  afterEach(() => rmSync(clone, { recursive: true }));

  const launch = (node: string, env: Record<string, string> = {}) =>
    spawnSync(node, [join(clone, "bin/postern.js"), "version"], {
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
  /** Creates a program of this name, first in PATH. */
  const program = (name: string, script: string): string => {
    const directory = join(clone, "programs");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
    return `${directory}${delimiter}${process.env["PATH"]}`;
  };

  it("`npx postern version` works from the root of a clone", () => {
    const ended = spawnSync("npx", ["postern", "version"], { cwd: root, encoding: "utf8" });
    assert.match(ended.stdout, /^postern \d+\.\d+\.\d+ \(node /);
    assert.equal(ended.status, 0);
  });

  if (oldNode) {
    it("the launcher runs the pinned Node if an older one starts it", async () => {
      const ended = await runCommand(["version", "--json"], { node: oldNode });
      assert.equal(ended.code, 0, ended.stderr);
      assert((JSON.parse(ended.stdout) as { node: string }).node.startsWith("26."));
    });

    for (const [what, stdin] of [
      ["with", "pipe"],
      ["without", "ignore"],
    ] as const) {
      it(`the launcher, when killed, stops the server, ${what} a standard input`, async () => {
        const directory = mkdtempSync(join(tmpdir(), "postern-launcher-"));
        const serve = startCommand(["serve", "--json", "--data", directory], {
          node: oldNode,
          env: freePorts,
          stdio: [stdin, "pipe", "pipe"],
        });
        const { api_url } = JSON.parse(await serve.firstLine()) as { api_url: string };
        const { pid } = JSON.parse(readFileSync(join(directory, "server.json"), "utf8")) as { pid: number };
        assert.notEqual(pid, serve.process.pid);
        // Its output closes when the last process with it ends: the server.
        await serve.end("SIGKILL");
        assert.equal(existsSync(join(directory, "server.json")), false, "it ended as it does by a signal");
        await assert.rejects(once(connect(Number(new URL(api_url).port), "127.0.0.1"), "connect"));
        rmSync(directory, { recursive: true });
      });
    }

    it("the launcher forwards signals, and returns the resulting exit code", async () => {
      const directory = mkdtempSync(join(tmpdir(), "postern-launcher-"));
      const serve = startCommand(["serve", "--json", "--data", directory], { node: oldNode, env: freePorts });
      await serve.firstLine();
      assert.equal((await serve.end("SIGINT")).code, 130);
      rmSync(directory, { recursive: true });
    });

    it("the launcher does not affect a server started without it that has another pipe at the same place", async () => {
      const directory = mkdtempSync(join(tmpdir(), "postern-launcher-"));
      const serve = startCommand(["serve", "--json", "--data", directory], {
        env: freePorts,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
      });
      const { api_url } = JSON.parse(await serve.firstLine()) as { api_url: string };
      serve.process.stdio[3]?.destroy();
      assert.equal((await fetch(`${api_url}/healthz`)).status, 200);
      assert.equal((await serve.end()).code, 0);
      rmSync(directory, { recursive: true });
    });

    it("the launcher returns the exit code", async () => {
      assert.equal((await runCommand(["no-such-command"], { node: oldNode })).code, 2);
    });

    it("the launcher prints the required Node and how to get it, if only an older one is installed", () => {
      const ended = launch(oldNode);
      assert.equal(ended.status, 2);
      assert.match(ended.stderr, /^postern: this is Node \d+\.\d+\.\d+, and Postern needs Node 24 or later: .*\n$/);
    });
  }

  const memory = { MALLOC_TRIM_THRESHOLD_: "131072", GLIBC_TUNABLES: "glibc.malloc.tcache_count=1000" };
  const others = { MALLOC_TRIM_THRESHOLD_: "1000000", GLIBC_TUNABLES: "glibc.malloc.tcache_count=9" };
  const oneOther = { GLIBC_TUNABLES: others.GLIBC_TUNABLES };
  for (const [how, node, given] of [
    ["a server", process.execPath, {}],
    ...(oldNode ? [["a server by another Node", oldNode, {}] as const] : []),
    ["a server whose operator changes all values", process.execPath, others],
    ["a server whose operator changes one value", process.execPath, oneOther],
  ] as const) {
    it(`the launcher configures malloc's cache and its release of memory: ${how}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "postern-launcher-"));
      const serve = startCommand(["serve", "--json", "--data", directory], { node, env: { ...freePorts, ...given } });
      await serve.firstLine();
      const { pid } = JSON.parse(readFileSync(join(directory, "server.json"), "utf8")) as { pid: number };
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      const ended = await serve.end();
      rmSync(directory, { recursive: true });
      assert.deepEqual(
        Object.keys(memory).flatMap((name) => environment.filter((one) => one.startsWith(`${name}=`))),
        Object.entries({ ...memory, ...given }).map(([name, value]) => `${name}=${value}`),
      );
      if (node === process.execPath) assert.equal(pid, serve.process.pid, "it is the process that was started");
      assert.equal(ended.code, 0);
    });
  }

  it("the launcher allows a server that may not start another process, as under Node's permissions", async () => {
    const NODE_OPTIONS = "--permission --allow-fs-read=* --allow-fs-write=*";
    const ended = await runCommand(["serve", "--help"], { env: { NODE_OPTIONS } });
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /^Usage: postern serve /);
  });

  for (const [what, program, warns] of [
    ["sources", "src/main.ts", true],
    ["a bundle", "bin/postern.js", false],
  ] as const) {
    it(`a server that runs from ${what} ${warns ? "warns once and names the command that bundles" : "gives no warning"}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "postern-launcher-"));
      const env = { ...process.env, ...freePorts };
      const serve = spawn(process.execPath, [program, "serve", "--data", directory], { cwd: root, env });
      const log: string[] = [];
      serve.stderr.on("data", (text: Buffer) => log.push(text.toString()));
      await once(serve.stdout, "data");
      serve.kill();
      await once(serve, "close");
      const warnings = log.join("").match(/running from sources.*npm run bundle/g) ?? [];
      rmSync(directory, { recursive: true });
      assert.equal(warnings.length, warns ? 1 : 0, log.join(""));
    });
  }

  it("the launcher installs the lockfile's packages if node_modules is missing, and reports a failure", () => {
    writeFileSync(join(clone, "package-lock.json"), "{}");
    const ended = launch(process.execPath, { PATH: program("npm", `echo "$@" >&2; exit 1`) });
    assert.equal(ended.status, 2);
    assert.match(ended.stderr, /installing[^\n]*\nci\npostern: the installation \(npm ci\) failed: /);
  });

  it("the launcher installs again if the lockfile is newer, and not if it is older", () => {
    mkdirSync(join(clone, "node_modules"));
    writeFileSync(join(clone, "package-lock.json"), "{}");
    writeFileSync(join(clone, "node_modules/.package-lock.json"), "{}");
    symlinkSync(join(root, "src"), join(clone, "src"));
    const PATH = program("npm", "exit 1");
    assert.doesNotMatch(launch(process.execPath, { PATH }).stderr, /installing/);
    spawnSync("touch", ["-d", "+1 hour", join(clone, "package-lock.json")]);
    assert.match(launch(process.execPath, { PATH }).stderr, /installing/);
  });
});
