/** Installs the agent as a system service, starts and stops it. Prints every action. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { Failure } from "../process/exit.ts";
import { launchdLabel, launchdPlist, systemdUnit } from "./unit.ts";
import type { ServiceFacts } from "./unit.ts";

export interface ServiceSystem {
  readonly file: string;
  render(facts: ServiceFacts): string;
  /** Commands, each a program and its arguments. */
  readonly install: readonly Words[];
  readonly start: readonly Words[];
  readonly stop: readonly Words[];
  /** Commands that stop the service before its removal. Their failures are ignored. */
  readonly ending: readonly Words[];
  readonly uninstall: readonly Words[];
  /** Commands after the file was deleted. */
  readonly afterwards: readonly Words[];
}

type Words = readonly [program: string, ...words: string[]];

const unit = "postern-agent.service";
/** This user has no login session, so the user's systemd does not run. */
const noSession =
  "run the command in a login session of this user, keep the user's services with `loginctl enable-linger`, or use --system for the whole machine";

/**
 * @param forAll whether the service belongs to the system instead of the user. Throws `Failure` (usage) on unsupported
 * systems
 */
export function serviceSystem(forAll: boolean, platform: NodeJS.Platform, env: NodeJS.ProcessEnv): ServiceSystem {
  if (platform === "linux") return makeSystemd(forAll, env);
  if (platform === "darwin") return makeLaunchd(forAll);
  throw new Failure(
    "usage",
    `services are supported on Linux (systemd) and macOS (launchd): configure the service manager of ${platform} to run \`postern start --all\``,
  );
}

function makeSystemd(forAll: boolean, env: NodeJS.ProcessEnv): ServiceSystem {
  const scope = forAll ? [] : ["--user"];
  const config = env["XDG_CONFIG_HOME"]?.startsWith("/") ? env["XDG_CONFIG_HOME"] : join(homedir(), ".config");
  const systemctl = (...words: string[]): Words => ["systemctl", ...scope, ...words];
  return {
    file: forAll ? `/etc/systemd/system/${unit}` : join(config, "systemd", "user", unit),
    render: systemdUnit,
    install: [systemctl("daemon-reload"), systemctl("enable", unit)],
    start: [systemctl("start", unit)],
    stop: [systemctl("stop", unit)],
    ending: [],
    uninstall: [systemctl("disable", "--now", unit)],
    afterwards: [systemctl("daemon-reload")],
  };
}

function makeLaunchd(forAll: boolean): ServiceSystem {
  const file = forAll
    ? `/Library/LaunchDaemons/${launchdLabel}.plist`
    : join(homedir(), "Library", "LaunchAgents", `${launchdLabel}.plist`);
  const domain = forAll ? "system" : `gui/${userInfo().uid}`;
  const service = `${domain}/${launchdLabel}`;
  const stop: Words = ["launchctl", "bootout", service];
  return {
    file,
    render: launchdPlist,
    install: [["launchctl", "enable", service]],
    start: [["launchctl", "bootstrap", domain, file]],
    stop: [stop],
    ending: [stop],
    uninstall: [["launchctl", "disable", service]],
    afterwards: [],
  };
}

/** Writes the file and registers it with the system. Throws `Failure`. */
export function installService(system: ServiceSystem, facts: ServiceFacts, print: (line: string) => void): void {
  try {
    mkdirSync(dirname(system.file), { recursive: true });
    writeFileSync(system.file, system.render(facts), { mode: 0o644 });
  } catch (error) {
    throw new Failure("usage", `cannot write "${system.file}": ${(error as Error).message}`, { cause: error });
  }
  print(`wrote ${system.file}`);
  runAll(system.install, print);
}

/** Throws `Failure` if the service is not installed. */
export function uninstallService(system: ServiceSystem, print: (line: string) => void): void {
  requireInstalled(system);
  for (const [program, ...words] of system.ending) {
    if (spawnSync(program, words).status === 0) print(`ran ${[program, ...words].join(" ")}`);
  }
  runAll(system.uninstall, print);
  rmSync(system.file);
  print(`removed ${system.file}`);
  runAll(system.afterwards, print);
}

/** Throws `Failure` if the service is not installed, or a command fails. */
export function controlService(system: ServiceSystem, what: "start" | "stop", print: (line: string) => void): void {
  requireInstalled(system);
  runAll(system[what], print);
}

function requireInstalled({ file }: ServiceSystem): void {
  if (existsSync(file)) return;
  throw new Failure("usage", `the service is not installed (no ${file}): run \`postern service install\``);
}

function runAll(commands: readonly Words[], print: (line: string) => void): void {
  for (const [program, ...words] of commands) {
    const line = [program, ...words].join(" ");
    const { error, status, stderr } = spawnSync(program, words, { encoding: "utf8" });
    if (error) {
      const what = `cannot run \`${line}\` (${error.message}): this machine has no ${program}, so configure its service manager`;
      throw new Failure("unexpected", `${what} to run \`postern start --all\``, { cause: error });
    }
    if (status !== 0) {
      const hint = /connect to .*bus/i.test(stderr) ? `: ${noSession}` : "";
      throw new Failure("unexpected", `\`${line}\` exited with ${status}: ${stderr.trim()}${hint}`);
    }
    print(`ran ${line}`);
  }
}
