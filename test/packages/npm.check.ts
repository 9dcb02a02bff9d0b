/** The npm package, installed with an empty home and without a checkout. */
import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { npmPackagePath } from "../../scripts/release/npm-package.ts";
import { filesIn } from "../../scripts/release/shipped-files.ts";
import { findOldNode } from "../support/command.ts";
import { findExecutable } from "../support/programs.ts";
import { built, emptyPlace, output } from "./artifacts.ts";
import { firstRun } from "./first-run.ts";

describe("the npm package", () => {
  const { folder, home, cwd } = emptyPlace();
  const prefix = join(folder, "prefix");
  // The Node of the machine: often older than Postern needs.
  const node = findOldNode() ?? process.execPath;
  const npm = findExecutable(["npm"]) ?? "npm";
  const env = { HOME: home, PATH: [join(prefix, "bin"), dirname(node), dirname(npm), "/usr/bin", "/bin"].join(":") };
  // npm finds its registry and proxy in the environment.
  const npmEnv = { ...process.env, ...env };
  before(() => output(npm, ["install", "--global", "--prefix", prefix, built(npmPackagePath)], { cwd, env: npmEnv }));
  after(() => rmSync(folder, { recursive: true }));

  it("takes at most 15 MB without Node", () => {
    const installed = filesIn(join(prefix, "lib", "node_modules", "postern"), "postern");
    const own = installed.filter(({ path }) => !path.startsWith("postern/node_modules/"));
    const bytes = own.reduce((sum, file) => sum + file.bytes.length, 0);
    assert(bytes < 15_000_000, `${bytes} bytes`);
    assert(statSync(npmPackagePath).size < 15_000_000);
  });

  it("depends on nothing but Node's packages", () => {
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

  it("runs on the Node that it brings, and names the commit", () => {
    const shown = JSON.parse(output("postern", ["version", "--json"], { cwd, env })) as Record<string, string>;
    assert.match(shown["node"] ?? "", /^26\./);
    assert.match(shown["commit"] ?? "", /^[0-9a-f]{40}$/);
  });

  it("publishes a service in an empty directory", () => firstRun({ command: ["postern"], env, cwd }));

  it("runs without an installation, by npx", () => {
    const words = ["exec", "--yes", `--package=${npmPackagePath}`, "--", "postern", "version"];
    assert.match(output(npm, words, { cwd, env: npmEnv }), /^postern \d/);
  });

  it("is removed by npm without a trace", () => {
    output(npm, ["uninstall", "--global", "--prefix", prefix, "postern"], { cwd, env: npmEnv });
    assert.equal(statSync(join(prefix, "bin", "postern"), { throwIfNoEntry: false }), undefined);
  });
});
