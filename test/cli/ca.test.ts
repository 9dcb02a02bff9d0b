/** `postern ca --install`: browsers of this user trust the server's own CA. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startChromium } from "../support/chromium.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { runCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("postern ca", { timeout: 90_000 }, () => {
  let platform: TestPlatform;
  let home: string;
  before(async () => {
    platform = await startPlatform();
    home = mkdtempSync(join(tmpdir(), "postern-home-"));
  });
  after(async () => {
    await platform.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const ca = (...args: string[]) => runCommand(["ca", "--data", platform.directory, ...args], { env: { HOME: home } });
  const isListed = (folder: string): boolean => {
    const { stdout } = spawnSync("certutil", ["-L", "-d", `sql:${folder}`], { encoding: "utf8" });
    return /^postern-[0-9a-f]{8} +C,,/m.test(stdout);
  };

  it("postern ca --install prints its commands, and runs none without a terminal or --yes", async () => {
    const { code, stderr } = await ca("--install");
    assert.equal(code, 2);
    assert.match(stderr, /certutil -A -d sql:\S+\/\.pki\/nssdb -t C,, -n postern-[0-9a-f]{8}/);
    assert.match(stderr, /--yes/);
    const dry = await ca("--install", "--dry-run");
    assert.deepEqual([dry.code, dry.stdout], [0, ""]);
  });

  it(
    "postern ca --install refuses sudo, with which it would change the browsers of root",
    { skip: process.getuid?.() === 0 ? false : "needs root" },
    async () => {
      const { code, stderr } = await runSharedCommand(["ca", "--data", platform.directory, "--install", "--dry-run"], {
        env: { HOME: home, SUDO_USER: "ada" },
      });
      assert.equal(code, 2);
      assert.match(stderr, /run the command as ada, without sudo/);
      assert.doesNotMatch(stderr, /certutil/);
    },
  );

  it("postern ca rejects --install together with --uninstall", async () => {
    const { code } = await runSharedCommand(["ca", "--data", platform.directory, "--install", "--uninstall"]);
    assert.equal(code, 2);
  });

  it(
    "postern ca --install --user adds the CA for Chromium and each Firefox profile, and --uninstall removes it",
    { skip: skipWithout("certutil") },
    async () => {
      const profile = join(home, ".mozilla/firefox/abc.default");
      mkdirSync(profile, { recursive: true });
      spawnSync("certutil", ["-N", "-d", `sql:${profile}`, "--empty-password"]);
      const chromium = join(home, ".pki/nssdb");
      const installed = await ca("--install", "--user", "--yes", "--json");
      assert.equal(installed.code, 0, installed.stderr);
      const { stores } = JSON.parse(installed.stdout) as { stores: { outcome: string }[] };
      assert.deepEqual(
        stores.map(({ outcome }) => outcome),
        ["done", "done"],
      );
      assert.deepEqual([isListed(chromium), isListed(profile)], [true, true]);
      const again = await ca("--install", "--user", "--yes");
      assert.equal(again.code, 0, again.stderr);
      const removed = await ca("--uninstall", "--user", "--yes");
      assert.equal(removed.code, 0, removed.stderr);
      assert.deepEqual([isListed(chromium), isListed(profile)], [false, false]);
    },
  );

  it(
    "postern ca --install --user makes Chromium open a printed URL without a warning",
    { skip: skipWithout("certutil", "chromium") },
    async () => {
      const url = `https://idp.localhost:${platform.httpsPort}/.well-known/jwks.json`;
      const open = async (): Promise<string> => {
        const browser = await startChromium(home);
        try {
          const page = await browser.newPage();
          return await page.goto(url).then(
            (response) => String(response?.status()),
            (error: unknown) => (error as Error).message,
          );
        } finally {
          await browser.close();
        }
      };
      assert.match(await open(), /ERR_CERT_AUTHORITY_INVALID/);
      assert.equal((await ca("--install", "--user", "--yes")).code, 0);
      assert.equal(await open(), "200");
    },
  );
});
