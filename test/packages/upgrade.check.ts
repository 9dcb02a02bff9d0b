/** Each artifact replaces the one of the previous commit, and serves the data that the previous one stored. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { debianPackagePath } from "../../scripts/release/debian-package.ts";
import { npmPackagePath } from "../../scripts/release/npm-package.ts";
import { readCommit, executablePath } from "../../scripts/release/paths.ts";
import { findExecutable } from "../support/programs.ts";
import { built, emptyPlace, output, skipWithoutPackaging } from "./artifacts.ts";
import { makeDebianRoot } from "./debian-root.ts";
import { startInstalledServer } from "./first-run.ts";
import type { Installed } from "./first-run.ts";
import { previousRelease } from "./previous-release.ts";

const timeout = 900_000;
const found = previousRelease();
const skip = typeof found === "string" ? found : false;
const previous = found as Exclude<typeof found, string>;

/** Stores an object with the previous version, upgrades, and reads the object with the new one. */
async function upgradeWithData(installed: Installed, data: string, upgrade: () => void): Promise<void> {
  const { command, env, cwd } = installed;
  const [program = "", ...words] = command;
  const shown = (...more: readonly string[]): string => output(program, [...words, ...more], { env, cwd });
  const version = (): unknown => (JSON.parse(shown("version", "--json")) as { commit: string }).commit;
  assert.equal(version(), previous.commit);
  const before = await startInstalledServer(installed, data);
  const { id } = await before.call("POST", "/reserved_domains", { domain: "kept.example.com" });
  await before.stop();
  upgrade();
  assert.equal(version(), readCommit());
  const after = await startInstalledServer(installed, data);
  assert.equal((await after.call("GET", `/reserved_domains/${String(id)}`))["domain"], "kept.example.com");
  await after.stop();
}

describe("an upgrade from the previous commit", { timeout, skip }, () => {
  const { folder, home, cwd } = emptyPlace();
  after(() => rmSync(folder, { recursive: true }));

  it("an upgrade from the previous commit preserves the data of the single executable", async () => {
    const program = join(folder, "postern");
    copyFileSync(previous.executable, program);
    const installed = { command: [program], env: { HOME: home, PATH: "/nonexistent" }, cwd };
    await upgradeWithData(installed, join(folder, "executable-data"), () => {
      rmSync(program);
      copyFileSync(built(executablePath("linux-x64")), program);
    });
    rmSync(program);
    assert.ok(existsSync(join(folder, "executable-data", "postern.db")));
  });

  it("an upgrade from the previous commit preserves the data of the npm package, also after its removal", async () => {
    const prefix = join(folder, "prefix");
    const npm = findExecutable(["npm"]) ?? "npm";
    const env = {
      HOME: home,
      PATH: [join(prefix, "bin"), dirname(process.execPath), dirname(npm), "/usr/bin", "/bin"].join(":"),
    };
    const global = ["--global", "--prefix", prefix];
    const npmEnv = { ...process.env, ...env };
    output(npm, ["install", ...global, previous.npmPackage], { cwd, env: npmEnv });
    await upgradeWithData({ command: ["postern"], env, cwd }, join(folder, "npm-data"), () => {
      output(npm, ["install", ...global, built(npmPackagePath)], { cwd, env: npmEnv });
    });
    output(npm, ["uninstall", ...global, "postern"], { cwd, env: npmEnv });
    assert.ok(existsSync(join(folder, "npm-data", "postern.db")));
  });

  describe("of the Debian package", { skip: skipWithoutPackaging("mmdebstrap", "root") }, () => {
    let debian: ReturnType<typeof makeDebianRoot>;
    before(() => {
      debian = makeDebianRoot();
      copyFileSync(previous.debianPackage, join(debian.folder, "previous.deb"));
      copyFileSync(built(debianPackagePath("linux-x64")), join(debian.folder, "postern.deb"));
    });
    after(() => debian.remove());

    it("an upgrade from the previous commit preserves the data of the Debian package until it is purged", async () => {
      debian.run("dpkg", "--install", "/previous.deb");
      const user = ["setpriv", "--reuid=postern", "--regid=postern", "--clear-groups", "postern"];
      const installed = { command: [...debian.command, ...user], env: debian.env, cwd: "/", root: debian.folder };
      await upgradeWithData(installed, "/var/lib/postern", () => debian.run("dpkg", "--install", "/postern.deb"));
      assert.equal(debian.run("dpkg", "--verify", "postern"), "");
      const database = join(debian.folder, "var/lib/postern/postern.db");
      debian.run("dpkg", "--remove", "postern");
      assert.ok(existsSync(database));
      debian.run("dpkg", "--purge", "postern");
      assert.ok(!existsSync(database));
    });
  });
});
