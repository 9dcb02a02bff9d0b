import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { agentFilesOf, defaultAgentFile } from "../agent-files/default-file.ts";
import { readAgentFiles, renderIssue } from "../agent-files/read-agent-files.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { posternProgram } from "../process/program.ts";
import { controlService, installService, serviceSystem, uninstallService } from "../service/control.ts";
import type { ServiceFacts } from "../service/unit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";

const actions = ["install", "start", "stop", "uninstall"] as const;

export const service = defineCommand({
  name: "service",
  doc: "Run `postern start --all` as a system service: systemd on Linux, launchd on macOS. The command prints what it writes and runs.",
  operands: actions.join("|"),
  least: 1,
  most: 1,
  settings: {
    files: agentConfig,
    system: flagOnly(
      toggle(
        "Install a system service that runs as the owner of the agent file, instead of a service of the current user.",
      ),
    ),
    dryRun: flagOnly(toggle("Print the service file without writing it.")),
  },
  examples: [
    "postern service install --dry-run",
    "postern service install && postern service start",
    "sudo postern service install --system --config /etc/postern/agent.yml",
  ],
  run({ files, system: forAll, dryRun }, [action = ""]) {
    if (!(actions as readonly string[]).includes(action)) {
      throw new Failure("usage", `"${action}" must be one of ${actions.join(", ")}`);
    }
    const system = serviceSystem(forAll, process.platform, process.env);
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    if (action === "start" || action === "stop") controlService(system, action, print);
    else if (action === "uninstall") uninstallService(system, print);
    else {
      const facts = factsOf(agentFilesOf(files, process.env), forAll);
      if (dryRun) process.stdout.write(`# ${system.file}\n${system.render(facts)}`);
      else installService(system, facts, print);
    }
    return Promise.resolve(exitCodes.fine);
  },
});

/** Throws `Failure` (usage) if the agent would not start. */
function factsOf(paths: readonly string[], forAll: boolean): ServiceFacts {
  const config = paths.map((path) => resolve(path));
  if (config.length === 0) {
    throw new Failure(
      "usage",
      `no agent file "${defaultAgentFile(process.env)}": write one with \`postern config init\`, or set another file with --config`,
    );
  }
  const { issues } = fileTunnels(readAgentFiles(config));
  if (issues.length > 0) throw new Failure("usage", issues.map(renderIssue).join("\n"));
  const logs = forAll ? "/Library/Logs" : join(homedir(), "Library", "Logs");
  return {
    program: posternProgram(),
    config,
    user: forAll ? ownerOf(config[0] as string) : undefined,
    logFile: join(logs, "postern-agent.log"),
  };
}

/** This user can read the token, and the service needs no other permissions. */
function ownerOf(path: string): string {
  const { uid } = statSync(path);
  if (uid === userInfo().uid) return userInfo().username;
  // launchd identifies users by name only.
  const { status, stdout } = spawnSync("id", ["-un", String(uid)], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : String(uid);
}
