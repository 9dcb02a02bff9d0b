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

/** @throws Failure (usage) if this machine has no systemd, or the user is not root */
export function demandService(): void {
  if (process.platform !== "linux" || !existsSync("/run/systemd/system")) {
    throw new Failure(
      "usage",
      "this machine does not run systemd: use --foreground, and run `postern serve` with your service manager",
    );
  }
  if (process.getuid?.() !== 0) {
    throw new Failure("usage", "installing a service needs root: run the command with sudo, or use --foreground");
  }
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
  const isPackaged = packagedUnits.some((file) => existsSync(file));
  let hasNewUnit = false;
  if (!isPackaged) {
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
