/** The Debian package, installed, upgraded, removed and purged in a root of its own. */
import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { debianPackagePath } from "../../scripts/release/debian-package.ts";
import { root as checkout } from "../../scripts/release/paths.ts";
import { findExecutable } from "../support/programs.ts";
import { built, output } from "./artifacts.ts";
import { firstRun } from "./first-run.ts";

/** Of Debian: what the package depends on, and no Node. */
const packages = "passwd,libatomic1,libstdc++6,ca-certificates";
const environment = { HOME: "/root", PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };
/** Making the root takes a while. */
const timeout = 600_000;

describe("the Debian package", { timeout }, () => {
  const root = mkdtempSync(join(tmpdir(), "postern-debian-"));
  const inRoot = ["/usr/sbin/chroot", root];
  const run = (...words: readonly string[]): string =>
    output("/usr/sbin/chroot", [root, ...words], { env: environment });
  const settings = join(root, "etc/postern/postern.yaml");
  const kept = join(root, "var/lib/postern/kept");
  before(() => {
    output("tar", ["--extract", "--file", baseRoot(), "--directory", root, "--exclude=./dev/*"]);
    mkdirSync(join(root, "dev"), { recursive: true });
    for (const device of ["null", "zero", "urandom", "random"]) copyDevice(device, root);
    copyFileSync(built(debianPackagePath("linux-x64")), join(root, "postern.deb"));
  });
  after(() => rmSync(root, { recursive: true }));

  it("takes at most 45 MB", () => {
    for (const platform of ["linux-x64", "linux-arm64"] as const) {
      assert(statSync(built(debianPackagePath(platform))).size < 45_000_000);
    }
  });

  it("is installed, prints the next step and no secrets", () => {
    const printed = run("dpkg", "--install", "/postern.deb");
    assert.match(printed, /systemctl enable --now postern/);
    assert.doesNotMatch(printed, /postern_(ak|at)_/);
    assert.equal(statSync(join(root, "var/lib/postern")).mode & 0o777, 0o700);
    assert.match(run("getent", "passwd", "postern"), /nologin$/m);
    assert.equal(run("dpkg", "--verify", "postern"), "");
  });

  it("has settings that the server accepts", () => {
    const shown = run("postern", "serve", "--config", "/etc/postern/postern.yaml", "--check", "--json");
    assert.equal((JSON.parse(shown) as { change: string }).change, "create");
  });

  it("publishes a service", () => firstRun({ command: [...inRoot, "postern"], env: environment, cwd: "/", root }));

  it("keeps data and changed settings in an upgrade", () => {
    writeFileSync(kept, "data");
    writeFileSync(settings, `${readFileSync(settings, "utf8")}region: north\n`);
    run("dpkg", "--install", "--force-confold", "/postern.deb");
    assert.equal(readFileSync(kept, "utf8"), "data");
    assert.match(readFileSync(settings, "utf8"), /region: north/);
  });

  it("leaves data when it is removed, and nothing when it is purged", () => {
    run("dpkg", "--remove", "postern");
    assert(existsSync(kept) && existsSync(settings));
    assert(!existsSync(join(root, "usr/bin/postern")));
    run("dpkg", "--purge", "postern");
    assert(!existsSync(join(root, "var/lib/postern")) && !existsSync(settings));
    assert.throws(() => run("getent", "passwd", "postern"));
  });

  const analyze = findExecutable(["systemd-analyze"]);
  const skip = analyze === undefined ? "needs systemd-analyze (apt-get install systemd)" : false;
  for (const unit of ["postern.service", "postern-agent.service"]) {
    it(`has a hardened ${unit}`, { skip }, () => {
      const file = join(checkout, "scripts/release/debian", unit);
      const words = ["security", "--offline=true", "--threshold=20", "--no-pager", file];
      assert.match(output(analyze ?? "", words), /Overall exposure level/);
      // Verified among the units of this machine, which need not have the executable.
      const copy = join(root, unit);
      writeFileSync(copy, readFileSync(file, "utf8").replaceAll("/usr/bin/postern", "/bin/true"));
      assert.equal(output(analyze ?? "", ["verify", "--man=no", copy]), "");
    });
  }
});

/** A minimal Debian as a tar file; cached below `node_modules`, and made again where it is missing. */
function baseRoot(): string {
  const folder = join(checkout, "node_modules", ".cache");
  const file = join(folder, "debian-root.tar");
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"].filter((path) =>
    existsSync(path),
  );
  const fresh = `${file}.${process.pid}.tar`;
  output("mmdebstrap", [
    "--quiet",
    "--variant=essential",
    `--include=${packages}`,
    "bookworm",
    fresh,
    ...sources.slice(0, 1),
  ]);
  copyFileSync(fresh, file);
  rmSync(fresh);
  return file;
}

function copyDevice(name: string, root: string): void {
  output("cp", ["--archive", `/dev/${name}`, join(root, "dev", name)]);
}
