/** The npm package, installed with an empty home and without a checkout. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { npmPackagePath } from "../../scripts/release/npm-package.ts";
import { filesIn } from "../../scripts/release/shipped-files.ts";
import { findOldNode } from "../support/command.ts";
import { findExecutable } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import { built, emptyPlace, output } from "./artifacts.ts";
import { firstRun, getTls, startInstalledServer } from "./first-run.ts";
import { checkThreads } from "./threads.ts";

describe("the npm package", () => {
  const { folder, home, cwd } = emptyPlace();
  const prefix = join(folder, "prefix");
  // The Node of the machine, often older than Postern requires.
  const node = findOldNode() ?? process.execPath;
  const npm = findExecutable(["npm"]) ?? "npm";
  const env = { HOME: home, PATH: [join(prefix, "bin"), dirname(node), dirname(npm), "/usr/bin", "/bin"].join(":") };
  // npm finds its registry and proxy in the environment.
  const npmEnv = { ...process.env, ...env };
  before(() => output(npm, ["install", "--global", "--prefix", prefix, built(npmPackagePath)], { cwd, env: npmEnv }));
  after(() => rmSync(folder, { recursive: true }));

  it("the npm package takes at most 15 MB without Node", () => {
    const installed = filesIn(join(prefix, "lib", "node_modules", "postern"), "postern");
    const own = installed.filter(({ path }) => !path.startsWith("postern/node_modules/"));
    const bytes = own.reduce((sum, file) => sum + file.bytes.length, 0);
    assert(bytes < 15_000_000, `${bytes} bytes`);
    assert(statSync(npmPackagePath).size < 15_000_000);
  });

  it("the npm package depends only on Node's packages", () => {
    const listed = output(npm, ["ls", "--global", "--prefix", prefix, "--all", "--parseable"], { env: npmEnv });
    const names = listed
      .trim()
      .split("\n")
      .slice(1)
      .map((path) => path.slice(path.lastIndexOf("/") + 1));
    assert.deepEqual(
      names.filter((name) => name !== "postern" && !/^node-(bin-)?(linux|darwin|win)-/.test(name)),
      [],
    );
  });

  it("the npm package runs on its own Node, and names the commit", () => {
    const shown = JSON.parse(output("postern", ["version", "--json"], { cwd, env })) as Record<string, string>;
    assert.match(shown["node"] ?? "", /^26\./);
    assert.match(shown["commit"] ?? "", /^[0-9a-f]{40}$/);
  });

  it("the npm package publishes a service in an empty directory", () => firstRun({ command: ["postern"], env, cwd }));

  it("the npm package starts all threads from its files, also when files of another version have replaced them", () =>
    checkThreads({ command: ["postern"], env, cwd }, () => {
      const library = join(prefix, "lib", "node_modules", "postern", "lib");
      for (const name of globSync("*.js", { cwd: library })) {
        rmSync(join(library, name));
        writeFileSync(join(library, name), "throw new Error('another version');");
      }
    }));

  it("the npm package publishes a port at a server with npx, in one command in an empty directory with an empty home", async () => {
    output(npm, ["install", "--global", "--prefix", prefix, npmPackagePath], { cwd, env: npmEnv });
    const data = join(folder, "server");
    const server = await startInstalledServer({ command: ["postern"], env, cwd }, data);
    const laptop = emptyPlace();
    copyFileSync(npmPackagePath, join(laptop.cwd, basename(npmPackagePath)));
    copyFileSync(join(data, "ca.pem"), join(laptop.cwd, "ca.pem"));
    const service = await startHttpService((_request, response) => response.end("from the laptop"));
    // The command of the guide.
    const words = ["--yes", `./${basename(npmPackagePath)}`, "http", String(service.port)];
    const more = ["--server", `localhost:${server.facts.agent_port}`, "--ca", "ca.pem", "--json"];
    const agent = spawn(join(dirname(npm), "npx"), [...words, ...more], {
      cwd: laptop.cwd,
      env: { ...npmEnv, HOME: laptop.home, POSTERN_AUTHTOKEN: server.facts.authtoken },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let errors = "";
    agent.stderr.on("data", (bytes) => (errors += String(bytes)));
    const exited = once(agent, "exit");
    try {
      const [line] = (await Promise.race([once(createInterface(agent.stdout), "line"), exited])) as [string];
      assert.equal(typeof line, "string", errors);
      const { url } = JSON.parse(line) as { readonly url: string };
      const ca = readFileSync(join(data, "ca.pem"), "utf8");
      assert.equal(await getTls(url, ca), "from the laptop");
    } finally {
      // npx, its shell, the launcher and the agent.
      process.kill(-(agent.pid as number), "SIGTERM");
      await exited;
      await service.stop();
      await server.stop();
      rmSync(laptop.folder, { recursive: true });
    }
  });

  it("the npm package is removed by npm without a trace", () => {
    output(npm, ["uninstall", "--global", "--prefix", prefix, "postern"], { cwd, env: npmEnv });
    assert.equal(statSync(join(prefix, "bin", "postern"), { throwIfNoEntry: false }), undefined);
  });
});
