/** The Debian package, installed, upgraded, removed and purged in a separate root. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { debianPackagePath } from "../../scripts/release/debian-package.ts";
import { root as checkout } from "../../scripts/release/paths.ts";
import { findExecutable } from "../support/programs.ts";
import { built, output, skipWithoutPackaging } from "./artifacts.ts";
import { makeDebianRoot } from "./debian-root.ts";
import type { DebianRoot } from "./debian-root.ts";
import { firstRun } from "./first-run.ts";

/** Creating the root takes a while. */
const timeout = 600_000;

describe("the Debian package", { timeout, skip: skipWithoutPackaging("mmdebstrap", "root") }, () => {
  let debian: DebianRoot;
  let root: string;
  let run: DebianRoot["run"];
  before(() => {
    debian = makeDebianRoot();
    ({ folder: root, run } = debian);
    copyFileSync(built(debianPackagePath("linux-x64")), join(root, "postern.deb"));
  });
  after(() => debian.remove());
  const settings = (): string => join(root, "etc/postern/postern.yaml");
  const kept = (): string => join(root, "var/lib/postern/kept");

  it("the Debian package takes at most 45 MB", () => {
    for (const platform of ["linux-x64", "linux-arm64"] as const) {
      assert(statSync(built(debianPackagePath(platform))).size < 45_000_000);
    }
  });

  it("the Debian package is installed, prints the next step and no secrets", () => {
    const printed = run("dpkg", "--install", "/postern.deb");
    assert.match(printed, /systemctl enable --now postern/);
    assert.doesNotMatch(printed, /postern_(ak|at)_/);
    assert.equal(statSync(join(root, "var/lib/postern")).mode & 0o777, 0o700);
    assert.match(run("getent", "passwd", "postern"), /nologin$/m);
    assert.equal(run("dpkg", "--verify", "postern"), "");
  });

  it("the Debian package has settings that the server accepts", () => {
    const shown = run("postern", "serve", "--config", "/etc/postern/postern.yaml", "--check", "--json");
    assert.equal((JSON.parse(shown) as { change: string }).change, "create");
  });

  it("the Debian package publishes a service", () =>
    firstRun({ command: [...debian.command, "postern"], env: debian.env, cwd: "/", root }));

  it(
    "X2: the Debian package binds port 443 as its user with the capability of the unit, fails without, and logs JSON",
    { skip: skipWithoutPackaging("nsenter", "ip") },
    async () => {
      const user = ["setpriv", "--reuid=postern", "--regid=postern", "--clear-groups", "--no-new-privs"];
      const serve = ["postern", "serve", "--config", "/etc/postern/postern.yaml", "--json"];
      // In a separate network namespace, where ports below 1024 need the capability.
      const alone = ["--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...debian.command, ...user];
      const start = (capabilities: string) =>
        spawn(
          "unshare",
          [
            ...alone,
            `--inh-caps=${capabilities}`,
            `--ambient-caps=${capabilities}`,
            `--bounding-set=${capabilities}`,
            ...serve,
          ],
          { env: debian.env, stdio: ["ignore", "pipe", "pipe"] },
        );
      const refused = start("-all");
      let refusal = "";
      refused.stderr.on("data", (bytes) => (refusal += String(bytes)));
      assert.deepEqual(await once(refused, "close"), [2, null]);
      assert.match(refusal, /no permission to listen on :443/);

      const server = start("-all,+net_bind_service");
      let logged = "";
      server.stderr.on("data", (bytes) => (logged += String(bytes)));
      const ended = once(server, "close");
      const [line] = (await Promise.race([once(createInterface(server.stdout), "line"), ended])) as [string];
      assert.equal(typeof line, "string", logged);
      assert.equal((JSON.parse(line) as { https_port: number }).https_port, 443);
      const pid = String(server.pid);
      assert.match(readFileSync(`/proc/${pid}/status`, "utf8"), /^CapEff:\t0{13}400$/m);
      const health = ["--target", pid, "--net", ...debian.command, ...user, "postern", "health"];
      assert.equal(output("nsenter", health, { env: debian.env }), "ready\n");
      server.kill("SIGTERM");
      assert.deepEqual(await ended, [0, null]);
      for (const entry of logged.trim().split("\n")) assert.ok((JSON.parse(entry) as { event: string }).event);
    },
  );

  it("the Debian package preserves data and changed settings in an upgrade", () => {
    writeFileSync(kept(), "data");
    writeFileSync(settings(), `${readFileSync(settings(), "utf8")}region: north\n`);
    run("dpkg", "--install", "--force-confold", "/postern.deb");
    assert.equal(readFileSync(kept(), "utf8"), "data");
    assert.match(readFileSync(settings(), "utf8"), /region: north/);
  });

  it("the Debian package leaves data when it is removed, and nothing when it is purged", () => {
    run("dpkg", "--remove", "postern");
    assert(existsSync(kept()) && existsSync(settings()));
    assert(!existsSync(join(root, "usr/bin/postern")));
    run("dpkg", "--purge", "postern");
    assert(!existsSync(join(root, "var/lib/postern")) && !existsSync(settings()));
    assert.throws(() => run("getent", "passwd", "postern"));
  });

  const analyze = findExecutable(["systemd-analyze"]);
  const skip = skipWithoutPackaging("systemd-analyze");
  for (const unit of ["postern.service", "postern-agent.service"]) {
    it(`the Debian package has a hardened ${unit}`, { skip }, () => {
      const file = join(checkout, "scripts/release/debian", unit);
      const words = ["security", "--offline=true", "--threshold=20", "--no-pager", file];
      assert.match(output(analyze ?? "", words), /Overall exposure level/);
      // Verified among the units of this machine, which may lack the executable.
      const copy = join(root, unit);
      writeFileSync(copy, readFileSync(file, "utf8").replaceAll("/usr/bin/postern", "/bin/true"));
      assert.equal(output(analyze ?? "", ["verify", "--man=no", copy]), "");
    });
  }
});
