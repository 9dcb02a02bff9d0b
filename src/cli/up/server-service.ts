/** Installs the server as a systemd service of the whole machine, and starts or restarts it. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../process/exit.ts";
import { serverUnit, serverUser } from "../service/server-unit.ts";
import type { ServerUnitFacts } from "../service/server-unit.ts";

const unitName = "postern.service";
const ownUnit = `/etc/systemd/system/${unitName}`;
/** Where packages install units. Such a unit is used unchanged. */
const packagedUnits = [`/usr/lib/systemd/system/${unitName}`, `/lib/systemd/system/${unitName}`];
/** Paths in those units. */
const packaged = { config: "/etc/postern/postern.yaml", data: "/var/lib/postern" };

/** Directories that the unit hides from the server: `ProtectHome=` in systemd.exec(5). */
const hiddenDirectories = ["/home", "/root", "/run/user"];

/** @throws Failure (usage) if this machine has no systemd, the user is not root, or the service could not start */
export function requireService(facts: ServerUnitFacts): void {
  if (process.platform !== "linux" || !existsSync("/run/systemd/system")) {
    throw new Failure(
      "usage",
      "this machine does not run systemd: use --foreground, and run `postern serve` with your service manager",
    );
  }
  if (process.getuid?.() !== 0) {
    throw new Failure("usage", "installing a service needs root: run the command with sudo, or use --foreground");
  }
  requireReadable(facts, findPackagedUnit());
}

/**
 * @param packagedUnit path of the unit that a package installed; undefined if `up` writes the unit
 * @throws Failure (usage) if the service could not read its files, or would use others
 */
export function requireReadable({ program, config, data }: ServerUnitFacts, packagedUnit: string | undefined): void {
  if (packagedUnit !== undefined) {
    if (config === packaged.config && data === packaged.data) return;
    throw new Failure(
      "usage",
      `the service of the package (${packagedUnit}) reads ${packaged.config} and stores its data in ${packaged.data}: ` +
        "leave out --file and --data, or use --foreground",
    );
  }
  for (const path of [...program, config, data]) {
    const hidden = hiddenDirectories.find((directory) => `${path}/`.startsWith(`${directory}/`));
    if (hidden === undefined) continue;
    throw new Failure(
      "usage",
      `the service cannot read "${path}", because it runs as the user ${serverUser} without access to ${hidden}: ` +
        "install Node.js and Postern for the whole machine (a Debian package does), choose other paths with --file and " +
        "--data, or use --foreground",
    );
  }
}

function findPackagedUnit(): string | undefined {
  return packagedUnits.find((file) => existsSync(file));
}

/**
 * Creates the user, the data directory and the unit as far as they are missing, and starts the service. A running
 * service is restarted only if its settings changed.
 *
 * @param isChanged whether the configuration file was written
 */
export function startService(facts: ServerUnitFacts, isChanged: boolean, print: (line: string) => void): void {
  const run = (program: string, ...words: string[]): void => {
    const line = [program, ...words].join(" ");
    const { error, status, stderr } = spawnSync(program, words, { encoding: "utf8" });
    if (error) throw new Failure("unexpected", `cannot run \`${line}\`: ${error.message}`, { cause: error });
    if (status !== 0) throw new Failure("unexpected", `\`${line}\` exited with ${status}: ${stderr.trim()}`);
    print(`ran ${line}`);
  };
  let hasNewUnit = false;
  if (findPackagedUnit() === undefined) {
    if (spawnSync("getent", ["passwd", serverUser]).status !== 0) {
      run(
        "useradd",
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        facts.data,
        "--shell",
        "/usr/sbin/nologin",
        serverUser,
      );
    }
    if (!existsSync(facts.data)) run("install", "-d", "-m", "0700", "-o", serverUser, "-g", serverUser, facts.data);
    hasNewUnit = writeUnit(serverUnit(facts), print);
    if (hasNewUnit) run("systemctl", "daemon-reload");
  }
  const isActive = spawnSync("systemctl", ["is-active", "--quiet", unitName]).status === 0;
  run("systemctl", "enable", unitName);
  if (!isActive) run("systemctl", "start", unitName);
  else if (isChanged || hasNewUnit) run("systemctl", "restart", unitName);
}

function writeUnit(text: string, print: (line: string) => void): boolean {
  if (existsSync(ownUnit) && readFileSync(ownUnit, "utf8") === text) return false;
  mkdirSync(dirname(ownUnit), { recursive: true });
  writeFileSync(ownUnit, text, { mode: 0o644 });
  print(`wrote ${ownUnit}`);
  return true;
}
